#!/usr/bin/env python3
"""All packet schedulers x coupled algorithms x the scenarios of scenarios/schedulers/: the matrix, and the expectations
about it.

    bench/schedulers.py                      # 10 seeds; exit code 1 if an expectation does not hold that is not explained
    bench/schedulers.py --seeds 3 --cc lia --report schedulers.html

The expectations below were written before the first run. `WHY` has those that failed, each with the test or the reason
that explains it."""

import argparse
import json
import os
import statistics
import subprocess
import sys

SCENARIOS = "unlike buffer bloat lossy failure fading web video mice".split()
SCHEDULERS = "minrtt llrp rr wrr redundant hsr sttf daps llbm ecf otias blest linux".split()
CC = "lia olia balia cubic".split()

# Figure of a scenario, and its name in the matrix.
FIGURES = {
    "unlike": ("goodput", "Mbit/s"), "buffer": ("goodput", "Mbit/s"), "bloat": ("queue", "packets queued on the slow path"),
    "lossy": ("order", "ms out of order, mean"), "failure": ("p50", "ms until complete"), "fading": ("p50", "ms until complete"),
    "web": ("p95", "ms per object, 95 %"), "video": ("late", "% of writes after 150 ms"), "mice": ("p99", "ms per flow, 99 %"),
}

# Name, and a test of it; `m(figure, scenario, scheduler)` is the mean over seeds with the given algorithm.
EXPECTED = {
    "redundant aggregates nothing: less than minrtt on unlike paths":
        lambda m: m("goodput", "unlike", "redundant") < 0.8 * m("goodput", "unlike", "minrtt"),
    "redundant has the lowest latency of web objects (95 %)":
        lambda m: all(m("p95", "web", "redundant") <= 1.02 * m("p95", "web", other) for other in SCHEDULERS),
    "redundant has the least out-of-order delay with a lossy fast path":
        lambda m: all(m("order", "lossy", "redundant") <= 1.02 * m("order", "lossy", other) for other in SCHEDULERS),
    "rr has the worst out-of-order delay on unlike paths":
        lambda m: all(m("order", "unlike", "rr") >= 0.98 * m("order", "unlike", other) for other in SCHEDULERS),
    "blest is better than minrtt with a small buffer and unlike paths":
        lambda m: m("goodput", "buffer", "blest") > m("goodput", "buffer", "minrtt"),
    "ecf is better than minrtt with a small buffer and unlike paths":
        lambda m: m("goodput", "buffer", "ecf") > m("goodput", "buffer", "minrtt"),
    "sttf is better than minrtt with a small buffer and unlike paths":
        lambda m: m("goodput", "buffer", "sttf") > m("goodput", "buffer", "minrtt"),
    "llbm queues less than minrtt on a bloated path":
        lambda m: m("queue", "bloat", "llbm") < m("queue", "bloat", "minrtt"),
    "all schedulers bring an object through the failure of a path":
        lambda m: all(m("unfinished", "failure", one) == 0 for one in SCHEDULERS),
    "daps is slower than minrtt while WiFi fades":
        lambda m: m("p50", "fading", "daps") > m("p50", "fading", "minrtt"),
    "otias is slower than minrtt while WiFi fades":
        lambda m: m("p50", "fading", "otias") > m("p50", "fading", "minrtt"),
}

# Expectations that fail, and why: (name, algorithm): explanation.
REMEDIES = ("minrtt's remedies keep the fast path full, too: 18.9 Mbit/s with OLIA, as blest and ecf, and 20.2 with CUBIC, which are 18.9 "
            "and sttf 19.0 there; minrtt:retransmit=off:penalise=off has 11.1 and 11.6 (tests/schedulers.rs: "
            "with_a_small_buffer_it_is_the_remedies_of_minrtt_that_keep_a_fast_path_full)")
WHY = {
    ("blest is better than minrtt with a small buffer and unlike paths", "olia"): REMEDIES,
    ("ecf is better than minrtt with a small buffer and unlike paths", "olia"): REMEDIES,
    ("blest is better than minrtt with a small buffer and unlike paths", "cubic"): REMEDIES,
    ("ecf is better than minrtt with a small buffer and unlike paths", "cubic"): REMEDIES,
    ("sttf is better than minrtt with a small buffer and unlike paths", "cubic"): REMEDIES,
    ("rr has the worst out-of-order delay on unlike paths", "*"):
        "In a bulk transfer one window has room at a time, so rr does what minrtt does; sttf and otias, which queue on a path "
        "beyond its window, have more (tests/schedulers.rs: schedulers_that_leave_no_window_unused_do_the_same_in_a_bulk_transfer)",
}


def figures(run):
    """The figures of a run."""
    connection = next(one for one in run["connections"] if one["id"] == "mp0")
    application = connection.get("application") or {}
    times = application.get("time_ms") or {}
    data = connection.get("data_level") or {}
    slow = next(link for link in run["links"] if link["id"] == "slow")
    first, second = (flow["throughput_bps"] for flow in connection["subflows"])
    return {
        "goodput": connection["goodput_bps"] / 1e6,
        "p50": times.get("p50"), "p95": times.get("p95"), "p99": times.get("p99"),
        "unfinished": application.get("unfinished", 0),
        "late": (application.get("deadline") or {}).get("missed_percent"),
        "order": (data.get("out_of_order_delay_ms") or {}).get("mean"),
        "queue": slow["mean_queue_packets"],
        "twice": data.get("repeated_bytes", 0) / 1e6,
        "blocked": 100 * data.get("window_limited", 0),
        "share": 100 * first / max(first + second, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="10")
    parser.add_argument("--cc", default=",".join(CC))
    parser.add_argument("--report", help="also write braid's report of all runs into this HTML file")
    args = parser.parse_args()
    braid = os.environ.get("BRAID", "target/release/braid")
    names = [f"schedulers/{name}" for name in SCENARIOS]
    command = [braid, "run", *names, "--scheduler", ",".join(SCHEDULERS), "--cc", args.cc, "--seeds", args.seeds,
               "--format", "jsonl", "--quiet"]
    if args.report:
        command += ["--report", args.report]
    cells, failed = {}, 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            run = json.loads(line)
            if run["status"] != "ok":
                failed += 1
                continue
            key = (run["cc"], run["scenario"].split("/")[1], run["scheduler"])
            cells.setdefault(key, []).append(figures(run))
    if process.returncode != 0 or failed:
        sys.exit(f"{failed} runs failed, exit code {process.returncode}")

    def mean(cc, figure, scenario, scheduler):
        values = [one[figure] for one in cells[cc, scenario, scheduler] if one[figure] is not None]
        return statistics.fmean(values) if values else float("nan")

    surprises = 0
    for cc in args.cc.split(","):
        print(f"\n## {cc}\n\n| scheduler | " + " | ".join(f"{one}: {FIGURES[one][1]}" for one in SCENARIOS)
              + " | sent twice (buffer), MB | window full (buffer), % | share of the fast path (unlike), % |")
        print("|" + "---|" * (len(SCENARIOS) + 4))
        for scheduler in SCHEDULERS:
            row = [mean(cc, FIGURES[one][0], one, scheduler) for one in SCENARIOS]
            row += [mean(cc, "twice", "buffer", scheduler), mean(cc, "blocked", "buffer", scheduler),
                    mean(cc, "share", "unlike", scheduler)]
            print(f"| {scheduler} | " + " | ".join(f"{value:.4g}" for value in row) + " |")
        print()
        for name, holds in EXPECTED.items():
            result = holds(lambda figure, scenario, scheduler, cc=cc: mean(cc, figure, scenario, scheduler))
            why = WHY.get((name, cc)) or WHY.get((name, "*"))
            surprises += not result and not why
            print(f"- {'holds' if result else 'DOES NOT HOLD'}: {name}" + (f". {why}" if not result and why else ""))
    print(f"\n{surprises} expectations without explanation do not hold")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
