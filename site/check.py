#!/usr/bin/env python3
"""Checks the site that scripts/site has built: links, spelling, HTML, how hard the prose is to read, and every command.

    site/check.py BRAID
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
SITE = ROOT / "site"
OUT = ROOT / "out/site"
TOOLS = ROOT / "target/site-tools"
# Pages for people who want to learn or do something; tables and evidence are elsewhere.
PROSE = ["README.md", *sorted(str(path.relative_to(ROOT)) for kind in ("tutorials", "guides", "explanation") for path in (ROOT / "docs" / kind).glob("*.md"))]
MOST_WORDS = 15_000
HIGHEST_GRADE = 10


def tool(*command, cwd=ROOT):
    return subprocess.run([str(part) for part in command], cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def python_tools():
    if not (TOOLS / "bin/python").exists():
        venv.create(TOOLS, with_pip=True)
    subprocess.run([TOOLS / "bin/pip", "install", "--quiet", "--requirement", SITE / "requirements.txt"], check=True)


def links():
    """Of every page, to pages and to their parts; those to others are not followed."""
    program = SITE / "node_modules/linkinator/build/src/cli.js"
    done = tool("node", program, ".", "--recurse", "--skip", "^https?://(?!localhost)", "--verbosity", "error", cwd=OUT)
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
    done = tool(TOOLS / "bin/typos", "README.md", "CONTRIBUTING.md", "docs", "site", "scripts", "algorithms", "schedulers", "scenarios", "kernel/README.md")
    yield from () if done.returncode == 0 else [done.stdout.strip()]


def markup():
    pages = [page for page in OUT.rglob("*.html") if page.name not in ("toc.html", "404.html")]
    done = tool("node", "node_modules/html-validate/bin/html-validate.mjs", "--config", ".htmlvalidate.json", "--formatter", "text", *pages, cwd=SITE)
    yield from () if done.returncode == 0 else [done.stdout.strip()[:4000]]


def prose(text):
    """Sentences alone: no code, tables, headings, links' targets."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    lines = []
    for line in text.splitlines():
        if line.startswith(("#", "|", "    ", "       ")):
            lines.append("")
            continue
        # An item of a list is a sentence, whatever it ends with.
        lines.append(re.sub(r"^\s*([-*]|\d+\.) ", "\n\n", line))
    paragraphs = [re.sub(r"[`*_]", "", part).replace("\n", " ").strip() for part in re.split(r"\n\s*\n", "\n".join(lines))]
    return " ".join(part if part.endswith((".", "?", "!")) else part.rstrip(":;,") + "." for part in paragraphs if part)


def reading():
    script = "import json, sys, textstat; print(json.dumps([[textstat.flesch_kincaid_grade(t), textstat.lexicon_count(t)] for t in json.load(sys.stdin)]))"
    pages = PROSE
    texts = json.dumps([prose((ROOT / page).read_text()) for page in pages])
    done = subprocess.run([TOOLS / "bin/python", "-W", "ignore", "-c", script], input=texts, text=True, check=True, stdout=subprocess.PIPE)
    measured = json.loads(done.stdout)
    for page, (grade, words) in zip(pages, measured):
        print(f"  {page}: grade {grade:.1f}, {words} words")
        if grade > HIGHEST_GRADE:
            yield f"{page}: grade {grade:.1f}, at most {HIGHEST_GRADE}: shorter sentences"
    words = sum(words for _, words in measured)
    print(f"  {words} words in all, at most {MOST_WORDS}")
    if words > MOST_WORDS:
        yield f"{words} words"


def commands(braid):
    """Runs every `braid` command of these pages, in their order, in an empty folder for each page.

    `<!-- not run: reason -->` before a block leaves it out; `<!-- not run, this whole page: reason -->` all of a page. The README's
    are run where they are repeated: it is the front page, and most of it needs a kernel. Files that a page says to save are saved.
    """
    for page in PROSE:
        text = (ROOT / page).read_text()
        if "<!-- not run, this whole page:" in text:
            print(f"  {page}: not run")
            continue
        count = 0
        with tempfile.TemporaryDirectory() as folder:
            blocks = re.split(r"\n\n+", text)
            for number, block in enumerate(blocks):
                if number and blocks[number - 1].startswith("<!-- not run:"):
                    continue
                saved = re.match(r"Save it as `([\w.]+)`", block)
                if saved:
                    before = re.findall(r"^```toml\n(.*?)^```", "\n\n".join(blocks[:number]), re.M | re.S)[-1]
                    (pathlib.Path(folder) / saved[1]).write_text(before)
                for line in re.findall(r"^ {4,}(braid .*)$", block, re.M):
                    line = line.split("  #")[0].strip()
                    if page == "README.md" and ("doctor" in line or "lab" in line or "compare" in line):
                        continue
                    done = subprocess.run(["bash", "-c", line.replace("braid", str(braid), 1)], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                    count += 1
                    if done.returncode:
                        yield f"{page}: `{line}` ends with {done.returncode}:\n{done.stdout[-600:]}"
            for program in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
                subprocess.run(["python3", "-c", f"compile({program!r}, {page!r}, 'exec')"], check=True)
        print(f"  {page}: {count} commands run")


def program_of_the_tutorial():
    """The algorithm of the tutorial compiles as those of the folder do."""
    text = (ROOT / "docs/tutorials/own-algorithm.md").read_text()
    source = re.search(r"^```c\n(.*?)^```", text, re.M | re.S)[1]
    flags = "-std=gnu11 -ffreestanding -fwrapv -fno-strict-aliasing -Wall -Wextra -Wconversion -Wno-unused-parameter -Werror -fsyntax-only -xc -".split()
    done = subprocess.run(["cc", *flags, "-I", "algorithms", "-I", "crates/braid-algorithms/native"], cwd=ROOT, input=source, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    yield from () if done.returncode == 0 else [done.stdout]


def main():
    braid = pathlib.Path(sys.argv[1]).resolve()
    python_tools()
    subprocess.run(["npm", "ci", "--prefix", SITE, "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], check=True)
    wrong = []
    checks = {"links": links, "spelling": spelling, "HTML": markup, "reading": reading, "commands": lambda: commands(braid), "program": program_of_the_tutorial}
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
