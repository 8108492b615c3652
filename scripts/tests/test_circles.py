"""scripts/circles finds a circle, prints its place, and reports nothing else."""

import pathlib
import subprocess
import tempfile
import unittest

CIRCLES = pathlib.Path(__file__).parent.parent / "circles"


def circles(files):
    """Exit code and output for a crate with these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, code in files.items():
            path = pathlib.Path(folder, "src", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code)
        done = subprocess.run([CIRCLES, folder], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


class Circles(unittest.TestCase):
    def test_two_modules_that_use_each_other_are_a_circle_with_its_lines(self):
        code, said = circles(
            {
                "lib.rs": "mod a;\nmod b;\n",
                "a.rs": "//! First.\nuse crate::b::B;\npub struct A(B);\n",
                "b.rs": "pub struct B;\nfn of() -> crate::a::A { todo!() }\n",
            }
        )
        self.assertEqual(code, 1)
        self.assertIn("src/a.rs:2 uses b", said)
        self.assertIn("src/b.rs:2 uses a", said)

    def test_a_name_that_is_passed_on_counts_where_it_is_defined(self):
        code, said = circles(
            {
                "lib.rs": "mod a;\nmod b;\npub use a::A;\n",
                "a.rs": "use crate::b::B;\npub struct A(B);\n",
                "b.rs": "use crate::A;\npub struct B;\n",
            }
        )
        self.assertEqual(code, 1)
        self.assertIn("uses a", said)

    def test_a_child_that_uses_its_parent_is_a_circle(self):
        code, said = circles(
            {
                "lib.rs": "mod a;\n",
                "a.rs": "mod c;\npub fn f() { c::g() }\npub const X: u8 = 1;\n",
                "a/c.rs": "use super::X;\npub fn g() -> u8 { X }\n",
            }
        )
        self.assertEqual(code, 1)
        self.assertIn("src/a/c.rs:1 uses a", said)

    def test_tests_comments_texts_and_other_crates_are_no_arrows(self):
        code, said = circles(
            {
                "lib.rs": "mod a;\nmod b;\n",
                "a.rs": "use crate::b::B;\npub struct A(B);\n",
                "b.rs": "// crate::a::A\nuse std::fmt;\npub struct B;\nconst TEXT: &str = \"crate::a::A\";\n"
                "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
            }
        )
        self.assertEqual((code, said), (0, "0 circles among 3 modules of 1 crates\n"))


if __name__ == "__main__":
    unittest.main()
