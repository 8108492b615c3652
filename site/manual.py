"""Manual pages from the site's pages, by lowdown."""

import os
import re
import subprocess


def roff(text, name, section, about):
    """One page of the site as a manual page; without `about` its heading is `NAME: description`."""
    heading, _, rest = text.partition("\n")
    about = about or re.sub(r"[`*]", "", heading.partition(": ")[2])
    text = f"# NAME\n\n{name} - {about}\n\n" + ("" if rest.lstrip().startswith("## ") else "# DESCRIPTION\n\n") + upper(plain(rest))
    options = ("--parse-no-super", "--parse-no-intraemph", "--out-no-smarty")
    command = ("lowdown", "-s", "-Tman", *options, "-m", f"title={name.upper()}", "-m", f"section={section}", "-")
    made = subprocess.run(command, input=text, text=True, check=True, stdout=subprocess.PIPE).stdout
    # Terminals have no typewriter face within text, and whatis expects a minus sign.
    made = made.replace(r"\fC", r"\fB").replace(f"{name} - ", rf"{name} \- ", 1)
    # Without a date, so that builds are reproducible. The last field is the collection.
    return re.sub(r'^(\.TH .*) ""$', r'\1 "" "braid"', made, count=1, flags=re.M)


def upper(text):
    """Headings in the style of manual pages."""
    text = re.sub(r"^## (.*)$", lambda match: "# " + match[1].upper(), text, flags=re.M)
    return re.sub(r"^###+ ", "## ", text, flags=re.M)


def plain(text):
    """Without pictures and links to other pages, with tables as lists of terms."""
    pieces = re.split(r"(^```.*?^```\n)", text, flags=re.M | re.S)
    return "".join(fenced(piece) if piece.startswith("```") else prose(piece) for piece in pieces)


def fenced(block):
    return re.sub(r"^```\w+", "```", block)


def prose(text):
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    # With the paragraph that describes the picture.
    text = re.sub(r"(?:^[^\n]+\n)+\n(?:!\[[^\]]*\]\([^)]*\)|<img [^>]*>)", "", text, flags=re.M)
    text = re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text)
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    # Indented code would belong to the term above it.
    text = re.sub(r"(?:^ {4}.*\n|^\n(?= {4}))+", code, text, flags=re.M)
    return re.sub(r"(?:^\|.*\n)+", terms, text, flags=re.M)


def code(match):
    lines = match[0].split("\n")
    return "\n```\n" + "\n".join(line[4:] for line in lines if line.strip() or line == "").strip("\n") + "\n```\n\n"


def terms(match):
    rows = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in match[0].splitlines()]
    made = []
    for row in rows[2:]:
        # The last column is the description; those between are named details.
        between = [f"{head}: {cell}" for head, cell in zip(rows[0][1:-1], row[1:-1]) if cell]
        if row[0]:
            made.append(f"{row[0]}\n: {'; '.join(filter(None, [*between, row[-1]]))}\n")
    return "\n" + "\n".join(made) + "\n"


def write(folder, name, section, text, about=""):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{name}.{section}"), "w", encoding="utf-8") as file:
        file.write(roff(text, name, section, about))
