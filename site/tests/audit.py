#!/usr/bin/env python3
"""An automated audit of the site, Lighthouse in headless Chromium: accessibility and performance of three pages.

    scripts/site && site/tests/audit.py             the median of five for each page; exit code 1 if one is below 95
    site/tests/audit.py --markdown docs/site-audit.md   also writes the table

Needs node, npm and chromium. Lighthouse is fetched into target/site-audit and is of one version.
"""

import argparse
import functools
import http.server
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "out/site"
TOOLS = ROOT / "target/site-audit"
LIGHTHOUSE = "12.8.2"
PAGES = {
    "home": "index.html",
    "a guide": "docs/guides/describe-a-network.html",
    "playground": "playground/index.html",
}
KINDS = ("accessibility", "performance")
LEAST = 95
RUNS = 5
# Lighthouse's own settings for a computer at a desk: 40 ms, 10 Mbit/s, no slower processor.
SETTINGS = ["--preset=desktop", "--only-categories=" + ",".join(KINDS), "--output=json", "--quiet"]
CHROME = "--headless=new --no-sandbox --disable-gpu --disable-background-networking --no-first-run --disable-sync"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def lighthouse():
    program = TOOLS / "node_modules/lighthouse/cli/index.js"
    if not program.exists():
        TOOLS.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", TOOLS, f"lighthouse@{LIGHTHOUSE}"], check=True)
    return program


def scores(program, url):
    """Of one run, 0 to 100, and the audits that cost points."""
    environment = dict(os.environ, CHROME_PATH=shutil.which("chromium") or "/usr/bin/chromium")
    done = subprocess.run(
        ["node", program, url, *SETTINGS, f"--chrome-flags={CHROME}"], env=environment, stdout=subprocess.PIPE, check=True
    )
    report = json.loads(done.stdout)
    if error := report.get("runtimeError"):
        sys.exit(f"{url}: {error['message']}")
    found = {kind: round(100 * report["categories"][kind]["score"]) for kind in KINDS}
    for kind in KINDS:
        for reference in report["categories"][kind]["auditRefs"]:
            audit = report["audits"][reference["id"]]
            if reference["weight"] and audit["score"] is not None and audit["score"] < 0.9:
                print(f"    {kind}: {audit['id']} {audit['score']}: {audit.get('displayValue') or audit['title']}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", metavar="FILE", help="also write the table there")
    options = parser.parse_args()
    if not (SITE / "index.html").exists():
        sys.exit("out/site is missing: run scripts/site first")
    program = lighthouse()
    handler = functools.partial(Quiet, directory=SITE.parent)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rows, worst = [], 100
    for name, page in PAGES.items():
        print(f"{name}: {page}", flush=True)
        runs = [scores(program, f"http://127.0.0.1:{server.server_port}/site/{page}") for _ in range(RUNS)]
        medians = {kind: int(statistics.median(run[kind] for run in runs)) for kind in KINDS}
        spread = {kind: sorted(run[kind] for run in runs) for kind in KINDS}
        print(f"  {medians}, all: {spread}", flush=True)
        worst = min(worst, *medians.values())
        cells = [f"{medians[kind]} ({spread[kind][0]} to {spread[kind][-1]})" for kind in KINDS]
        rows.append(f"| {name} | `{page}` | " + " | ".join(cells) + " |")
    if options.markdown:
        text = (
            "# The site, audited\n\n"
            f"Lighthouse {LIGHTHOUSE}, median of {RUNS} runs (lowest to highest), out of 100. Made by `scripts/site` and then "
            "`site/tests/audit.py --markdown docs/site-audit.md`.\n\n"
            f"Settings: `{' '.join(SETTINGS[:2])}`, headless Chromium, pages from a server on the same machine below a folder.\n\n"
            "| page | file | " + " | ".join(KINDS) + " |\n|---|---|" + "--:|" * len(KINDS) + "\n" + "\n".join(rows) + "\n"
        )
        pathlib.Path(options.markdown).write_text(text)
    sys.exit(worst < LEAST)


if __name__ == "__main__":
    main()
