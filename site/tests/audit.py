#!/usr/bin/env python3
"""An automated audit of the site with Lighthouse in headless Chromium: accessibility and performance of three pages.

    scripts/site && site/tests/audit.py                         the median of five; exit code 1 if one is below 95
    site/tests/audit.py --markdown target/site-audit.md        also writes the page

Also measures each page's initial download, and the time that the playground's engine needs for 60 s of two flows. Needs
an idle machine, node, npm and chromium. Fetches a fixed version of Lighthouse into target/site-audit.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "site"))
import serve  # noqa: E402

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
MOST_BYTES = 1_500_000
ENGINE_MS = 100
# Lighthouse's settings for a desktop computer: 40 ms, 10 Mbit/s, no slower processor.
SETTINGS = ["--preset=desktop", "--only-categories=" + ",".join(KINDS), "--output=json", "--quiet"]
CHROME = "--headless=new --no-sandbox --disable-gpu --disable-background-networking --no-first-run --disable-sync"


def lighthouse():
    program = TOOLS / "node_modules/lighthouse/cli/index.js"
    if not program.exists():
        TOOLS.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", TOOLS, f"lighthouse@{LIGHTHOUSE}"], check=True)
    return program


def scores(program, url):
    """Scores of one run, 0 to 100, and the audits that cost points."""
    environment = dict(os.environ, CHROME_PATH=shutil.which("chromium") or "/usr/bin/chromium")
    done = subprocess.run(
        ["node", program, url, *SETTINGS, f"--chrome-flags={CHROME}"], env=environment, stdout=subprocess.PIPE, check=True
    )
    report = json.loads(done.stdout)
    if error := report.get("runtimeError"):
        sys.exit(f"{url}: {error['message']}")
    found = {kind: round(100 * report["categories"][kind]["score"]) for kind in KINDS}
    found["bytes"] = int(report["audits"]["total-byte-weight"]["numericValue"])
    for kind in KINDS:
        for reference in report["categories"][kind]["auditRefs"]:
            audit = report["audits"][reference["id"]]
            if reference["weight"] and audit["score"] is not None and audit["score"] < 0.9:
                print(f"    {kind}: {audit['id']} {audit['score']}: {audit.get('displayValue') or audit['title']}")
    return found


ENGINE = """
import { readFileSync } from 'node:fs';
import { load } from '%s/site/playground/engine.js';
const engine = await load(readFileSync('%s/target/wasm/braid.wasm'));
const { scenarios } = engine.ask({ ask: 'catalogue' });
const { toml } = scenarios.find(({ name }) => name === 'd-olia/2');
const times = [];
for (let run = 0; run < 11; run += 1) {
  const start = performance.now();
  engine.ask({ ask: 'open', slot: 0, name: 'd-olia/2', toml, set: ['duration=60s'], flat: true, cc: 'lia', seed: run + 1 });
  engine.advance(0, 60, 0.1);
  times.push(performance.now() - start);
}
console.log(JSON.stringify(times.sort((a, b) => a - b)));
"""


def engine():
    """Milliseconds for 60 s of d-olia/2, an MPTCP connection and a TCP flow, with its rows for the charts: sorted, 11 seeds."""
    text = ENGINE % (ROOT, ROOT)
    done = subprocess.run(["node", "--input-type=module", "--eval", text], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", metavar="FILE", help="also write the table there")
    options = parser.parse_args()
    if not (SITE / "index.html").exists():
        sys.exit("out/site is missing: run scripts/site first")
    program = lighthouse()
    server = serve.server(SITE.parent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rows, worst, largest = [], 100, 0
    for name, page in PAGES.items():
        print(f"{name}: {page}", flush=True)
        runs = [scores(program, f"http://127.0.0.1:{server.server_port}/site/{page}") for _ in range(RUNS)]
        medians = {kind: int(statistics.median(run[kind] for run in runs)) for kind in KINDS}
        spread = {kind: sorted(run[kind] for run in runs) for kind in KINDS}
        print(f"  {medians}, all: {spread}", flush=True)
        worst = min(worst, *medians.values())
        most = max(run["bytes"] for run in runs)
        largest = max(largest, most)
        cells = [f"{medians[kind]} ({spread[kind][0]} to {spread[kind][-1]})" for kind in KINDS]
        rows.append(f"| {name} | `{page}` | " + " | ".join(cells) + f" | {most / 1000:.0f} |")
    times = engine()
    print(f"engine: {times[5]:.0f} ms ({times[0]:.0f} to {times[-1]:.0f}); largest first load: {largest / 1000:.0f} kB")
    if options.markdown:
        text = (
            "# The site, audited\n\n"
            f"Lighthouse {LIGHTHOUSE}, median of {RUNS} runs (lowest to highest), out of 100. This page is made by `scripts/site` and then "
            "`site/tests/audit.py --markdown target/site-audit.md`.\n\n"
            f"Settings: `{' '.join(SETTINGS[:2])}`, headless Chromium, pages below a folder of a server on the same machine that compresses "
            f"with gzip (`site/serve.py`). {time.strftime('%F', time.gmtime())}, {os.cpu_count()} processors.\n\n"
            "| page | file | " + " | ".join(KINDS) + " | first load, kB |\n|---|---|" + "--:|" * (len(KINDS) + 1) + "\n" + "\n".join(rows) + "\n\n"
            f"The first load has to be below {MOST_BYTES / 1000:.0f} kB, compressed.\n\n"
            f"The playground's engine, alone in node, makes 60 s of `d-olia/2` in {times[5]:.0f} ms ({times[0]:.0f} to {times[-1]:.0f}, 11 seeds): one MPTCP "
            f"connection and one TCP flow, with a row for the charts every 100 ms. The aim is {ENGINE_MS} ms on a laptop.\n"
        )
        pathlib.Path(options.markdown).write_text(text)
    sys.exit(worst < LEAST or largest > MOST_BYTES)


if __name__ == "__main__":
    main()
