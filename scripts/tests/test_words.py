"""scripts/words finds retired words in comments and documents, and only there."""

import pathlib
import runpy
import unittest

WORDS = runpy.run_path(str(pathlib.Path(__file__).parent.parent / "words"))


def found(ending, text):
    """Line and word of every retired word."""
    return [(line, word) for line, word, _ in WORDS["retired"](WORDS["prose"](text, ending, False))]


class Words(unittest.TestCase):
    def test_a_retired_word_is_found_in_every_kind_of_file_with_its_line(self):
        for ending, line, text in [
            (".rs", 2, 'fn f() {}\n/// Nobody reads it.\nlet s = "nobody";\n'),
            (".c", 3, "int nobody;\n/*\n * Nobody reads it.\n */\n"),
            (".h", 1, "int nobody; /* Nobody reads it. */\n"),
            (".py", 2, 'nobody = 1\n"""Nobody reads it."""\n'),
            (".sh", 2, "nobody=1\n# Nobody reads it.\n"),
            (".md", 3, "# Title\n\nNobody reads it.\n\n    nobody\n"),
        ]:
            with self.subTest(ending):
                self.assertEqual(found(ending, text), [(line, "Nobody")])

    def test_each_retired_word_comes_with_its_replacement(self):
        text = "It waits for so long.\n\nBoth send by turns.\n"
        self.assertEqual(
            [(word, plain) for _, word, plain in WORDS["retired"](text)],
            [("so long", "n, for that time, recent, again"), ("by turns", "alternately")],
        )

    def test_names_in_backticks_and_allowed_phrases_are_no_retired_words(self):
        self.assertEqual(found(".rs", "// Reads `carriers` of [`Moment`](crate::moment).\n"), [])
        self.assertEqual(found(".md", "The interface has no carrier.\n"), [])
        self.assertEqual(found(".md", "Its carriers have.\n"), [(1, "carriers")])


if __name__ == "__main__":
    unittest.main()
