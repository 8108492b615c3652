"""The map in CONTRIBUTING.md and the architecture page list every folder and every crate."""

import pathlib
import re
import subprocess
import tomllib
import unittest

ROOT = pathlib.Path(__file__).parent.parent.parent
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()


def folders():
    """Top-level folders with tracked files, except hidden ones, and every crate."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    paths = [path.split("/") for path in listed.split("\0") if "/" in path]
    top = {parts[0] + "/" for parts in paths if not parts[0].startswith(".") and parts[0] != "crates"}
    crates = {"/".join(parts[:2]) for parts in paths if parts[0] == "crates"}
    return top | crates


def used(folder):
    """Crates of the tree that a crate uses: its dependencies, including those of a target or feature."""
    manifest = tomllib.loads((ROOT / folder / "Cargo.toml").read_text())
    tables = [manifest, *manifest.get("target", {}).values()]
    return {name for table in tables for name in table.get("dependencies", {}) if name.startswith("braid-")}


class Map(unittest.TestCase):
    def test_contributing_lists_the_folders_and_crates_of_the_tree(self):
        listed = set(re.findall(r"^\| `([^`]+)` \|", CONTRIBUTING, re.M))
        self.assertEqual(folders(), listed)

    def test_a_crate_uses_only_crates_above_it_in_the_architecture(self):
        order = re.findall(r"^\| `(braid-[a-z-]+|python/)` \|", ARCHITECTURE, re.M)
        crates = {path.removeprefix("crates/") for path in folders() if path.startswith("crates/")}
        self.assertEqual(crates | {"python/"}, set(order))
        for at, name in enumerate(order):
            folder = "python" if name == "python/" else f"crates/{name}"
            self.assertLessEqual(used(folder), set(order[:at]), name)

    def test_the_architecture_names_the_crates_that_each_crate_uses(self):
        rows = re.findall(r"^\| `(braid-[a-z-]+)` \|(.*)\|$", ARCHITECTURE, re.M)
        said = {name: set(re.findall(r"`(braid-[a-z-]+)`", uses)) for name, uses in rows}
        del said["braid-cli"]

        def closed(names):
            return names.union(*(closed(said[name]) for name in names))

        for name, uses in said.items():
            self.assertEqual(used(f"crates/{name}"), used(f"crates/{name}") & closed(uses), name)
            self.assertLessEqual(uses, used(f"crates/{name}"), name)


if __name__ == "__main__":
    unittest.main()
