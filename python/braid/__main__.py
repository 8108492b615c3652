# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`python -m braid sweep GRID --out DIR --dask ADDRESS`: started by `braid sweep --dask`."""

from __future__ import annotations

import argparse
import sys

import braid


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m braid")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("sweep", help="a sweep on this machine or on a Dask cluster")
    command.add_argument("grid", metavar="GRID.toml")
    command.add_argument("--out", required=True, metavar="DIR")
    command.add_argument("--dask", metavar="ADDRESS", help="a scheduler, such as tcp://10.0.0.1:8786")
    command.add_argument("--time-limit", type=float, default=30.0, metavar="SECONDS")
    command.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    try:
        progress = False if args.quiet else None
        done = braid.sweep(args.grid, args.out, client=args.dask, time_limit=args.time_limit, progress=progress)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from there", file=sys.stderr)
        return 130
    except (braid.Error, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(done.summary, end="")
    return 0 if ", 0 failed" in done.summary else 1


if __name__ == "__main__":
    sys.exit(main())
