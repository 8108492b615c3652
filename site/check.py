#!/usr/bin/env python3
"""Checks the site built by scripts/site: links, spelling, HTML, readability of the prose, and manual pages.

    site/check.py                      all of these; links to other sites are not followed
    site/check.py --external FOLDER    the links of the pages in FOLDER to other sites, and nothing else

crates/braid-cli/tests/commands.rs runs the commands and programs of the pages.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
SITE = ROOT / "site"
OUT = ROOT / "out/site"
TOOLS = ROOT / "target/site-tools"
MOST_WORDS = 15_000
HIGHEST_GRADE = 10
LINKINATOR = SITE / "node_modules/linkinator/build/src/cli.js"
# Statuses of sites that refuse programs: they require a person, a password, or fewer requests.
REFUSALS = (401, 403, 405, 406, 429, 451, 999)


def tool(*command, cwd=ROOT):
    return subprocess.run([str(part) for part in command], cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def python_tools():
    if not (TOOLS / "bin/python").exists():
        venv.create(TOOLS, with_pip=True)
    subprocess.run([TOOLS / "bin/pip", "install", "--quiet", "--requirement", SITE / "requirements.txt"], check=True)


def links():
    """Links of every page, to pages and to their parts; links to other sites are not followed."""
    done = tool("node", LINKINATOR, ".", "--recurse", "--skip", "^https?://(?!localhost)", "--verbosity", "error", cwd=OUT)
    yield from () if done.returncode == 0 else [done.stdout.strip()]
    ids = {}
    pages = {page: page.read_text() for page in OUT.rglob("*.html")}
    for page, text in pages.items():
        ids[page] = set(re.findall(r'\bid="?([^"\s>]+)', text))
    for page, text in pages.items():
        for target, fragment in re.findall(r'<a[^>]* href="([^"#:]*)#([^"]+)"', text):
            there = (page.parent / target).resolve() if target else page
            if there.parent.name == "playground" or there not in ids:
                continue
            if fragment not in ids[there]:
                yield f"{page.relative_to(OUT)}: no part `{fragment}` in {there.relative_to(OUT)}"


def spelling():
    done = tool(TOOLS / "bin/typos", "README.md", "CONTRIBUTING.md", "docs", "site", "scripts", "algorithms", "schedulers", "scenarios", "kernel/README.md", "kernel/mptcp_sched/README.md")
    yield from () if done.returncode == 0 else [done.stdout.strip()]


def markup():
    pages = [page for page in OUT.rglob("*.html") if page.name not in ("toc.html", "404.html")]
    done = tool("node", "node_modules/html-validate/bin/html-validate.mjs", "--config", ".htmlvalidate.json", "--formatter", "text", *pages, cwd=SITE)
    yield from () if done.returncode == 0 else [done.stdout.strip()[:4000]]


def prose(text):
    """Sentences only: without code, tables, headings, and link targets."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    lines = []
    for line in text.splitlines():
        if line.startswith(("#", "|", "    ", "       ")):
            lines.append("")
            continue
        # An item of a list is a sentence, with any ending.
        lines.append(re.sub(r"^\s*([-*]|\d+\.) ", "\n\n", line))
    paragraphs = [re.sub(r"[`*_]", "", part).replace("\n", " ").strip() for part in re.split(r"\n\s*\n", "\n".join(lines))]
    return " ".join(part if part.endswith((".", "?", "!")) else part.rstrip(":;,") + "." for part in paragraphs if part)


def guides():
    """Tutorials and guides: the pages of these parts of the contents, and the front page."""
    parts = re.split(r"^# ", (SITE / "summary.md").read_text(), flags=re.M)
    taken = [part for part in parts if part.startswith(("Tutorials", "How to", "Explanation"))]
    return ["README.md", *re.findall(r"\]\(([^)]+)\)", "".join(taken))]


def others():
    """All other handwritten pages."""
    folders = ["", "docs", "docs/man", "docs/adr", "kernel", "kernel/mptcp_sched", "papers", "bench", "algorithms", "schedulers"]
    pages = [path.relative_to(ROOT) for folder in folders for path in sorted((ROOT / folder).glob("*.md"))]
    return [str(page) for page in pages if str(page) not in guides()]


def reading():
    script = "import json, sys, textstat; print(json.dumps([[textstat.flesch_kincaid_grade(t), textstat.lexicon_count(t)] for t in json.load(sys.stdin)]))"
    pages = guides() + others()
    texts = json.dumps([prose((ROOT / page).read_text()) for page in pages])
    done = subprocess.run([TOOLS / "bin/python", "-W", "ignore", "-c", script], input=texts, text=True, check=True, stdout=subprocess.PIPE)
    measured = dict(zip(pages, json.loads(done.stdout)))
    for page, (grade, words) in measured.items():
        if page in guides():
            print(f"  {page}: grade {grade:.1f}, {words} words")
        if grade > HIGHEST_GRADE:
            yield f"{page}: grade {grade:.1f}, at most {HIGHEST_GRADE}: shorter sentences"
    words = sum(measured[page][1] for page in guides())
    print(f"  {words} words in all, at most {MOST_WORDS}")
    hardest = max(others(), key=lambda page: measured[page][0])
    print(f"  {len(others())} pages of reference, measurements and appendix: the hardest is {hardest}, grade {measured[hardest][0]:.1f}")
    if words > MOST_WORDS:
        yield f"{words} words"


def manual():
    """Every manual page is generated, groff prints no warning, and whatis finds its line."""
    if not all(map(shutil.which, ("lowdown", "man", "lexgrog"))):
        print("  skipped: lowdown or man-db is missing (sudo apt-get install lowdown man-db)")
        return
    with tempfile.TemporaryDirectory() as folder:
        done = tool(ROOT / "scripts/site", "--man", folder)
        if done.returncode:
            yield done.stdout.strip()
            return
        pages = sorted(pathlib.Path(folder).rglob("*.[1-9]"))
        print(f"  {len(pages)} manual pages")
        for page in pages:
            read = subprocess.run(["man", "--warnings", "-l", page], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if read.returncode or read.stderr:
                yield f"{page.name}: {read.stderr.strip()[:300]}"
            if tool("lexgrog", page).returncode:
                yield f"{page.name}: no line for whatis"


def external(folder):
    """Checks each external link once; exit code 1 if one is gone, or its site does not answer."""
    options = "--recurse --format json --verbosity info --concurrency 8 --timeout 30000 --retry --retry-errors --retry-errors-count 2".split()
    done = subprocess.run(["node", LINKINATOR, ".", *options], cwd=folder, text=True, stdout=subprocess.PIPE)
    found = {}
    for link in json.loads(done.stdout)["links"]:
        url = link["url"]
        # Links within the site are file names.
        if url.startswith("http"):
            found.setdefault(url, (link["state"], link.get("status", 0), link.get("parent", ".")))
    broken = {url: value for url, value in found.items() if value[0] == "BROKEN"}
    # A person has to check pages that a site hides from programs.
    shy = {url: value for url, value in broken.items() if value[1] in REFUSALS}
    for url, (_, status, parent) in sorted(broken.items()):
        print(f"  {'look at it yourself' if url in shy else 'broken'}: {url} ({status or 'no answer'}), on {parent}")
    print(f"  {len(found)} links to other sites: {len(found) - len(broken)} work, {len(shy)} refuse programs, {len(broken) - len(shy)} are broken")
    return len(broken) > len(shy)


def main():
    if not LINKINATOR.exists():
        subprocess.run(["npm", "ci", "--prefix", SITE, "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], check=True)
    if len(sys.argv) == 3 and sys.argv[1] == "--external":
        sys.exit(external(pathlib.Path(sys.argv[2])))
    python_tools()
    wrong = []
    checks = {"links": links, "spelling": spelling, "HTML": markup, "reading": reading, "manual pages": manual}
    for name, check in checks.items():
        print(f"{name}:", flush=True)
        found = list(check())
        for one in found:
            print(f"  {one}")
        wrong += found
    print("nothing wrong" if not wrong else f"{len(wrong)} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
