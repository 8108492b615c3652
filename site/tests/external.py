#!/usr/bin/python3
"""Tests `site/check.py --external` with a local server in the place of other sites: working, moved and missing pages.

    site/tests/external.py
"""

import http.server
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class OtherSites(http.server.BaseHTTPRequestHandler):
    asked = {}

    def answer(self):
        asked = self.asked[self.path] = self.asked.get(self.path, 0) + 1
        # "busy" answers from the second time on; "head" supports GET only.
        status = {"/moved": 301, "/gone": 404, "/shy": 403, "/busy": 503 if asked == 1 else 200}.get(self.path, 200)
        if self.path == "/head" and self.command == "HEAD":
            status = 405
        self.send_response(status)
        if status == 301:
            self.send_header("Location", "/new")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = answer

    def log_message(self, *_):
        pass


class External(unittest.TestCase):
    def check(self, *paths):
        OtherSites.asked = {}
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherSites)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        with tempfile.TemporaryDirectory() as folder:
            links = "".join(f'<a href="http://127.0.0.1:{server.server_port}{path}">x</a>' for path in paths)
            index = '<!doctype html><title>x</title><a href="page.html">x</a>'
            pathlib.Path(folder, "index.html").write_text(index)
            pathlib.Path(folder, "page.html").write_text(f"<!doctype html><title>x</title>{links}")
            done = subprocess.run(
                [sys.executable, ROOT / "site/check.py", "--external", folder], text=True, stdout=subprocess.PIPE
            )
        return done.returncode, done.stdout

    def test_what_works_moved_is_busy_at_first_or_knows_no_head_is_right(self):
        code, said = self.check("/works", "/moved", "/busy", "/head")
        self.assertEqual(code, 0, said)
        self.assertIn("4 links to other sites: 4 work, 0 refuse programs, 0 are broken", said)

    def test_what_is_gone_is_named_with_its_page(self):
        code, said = self.check("/works", "/gone")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"broken: http://127.0.0.1:\d+/gone \(404\), on page.html")
        self.assertIn("1 work, 0 refuse programs, 1 are broken", said)

    def test_what_refuses_programs_is_for_a_person_to_look_at(self):
        code, said = self.check("/shy")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"look at it yourself: http://127.0.0.1:\d+/shy \(403\)")

    def test_a_site_that_does_not_answer_is_broken(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "index.html").write_text('<!doctype html><title>x</title><a href="http://127.0.0.1:9/">x</a>')
            done = subprocess.run(
                [sys.executable, ROOT / "site/check.py", "--external", folder], text=True, stdout=subprocess.PIPE
            )
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("no answer", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
