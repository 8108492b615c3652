#!/usr/bin/python3
"""The site in a real browser, headless Chromium, from the file system and from a server below a folder.

    scripts/site && site/tests/browser.py        the tests; screenshots are left in target/site-screens

Needs chromium, chromedriver and python3-selenium (scripts/setup --test installs them).
"""

import json
import pathlib
import sys
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "crates/braid-cli/tests"), str(ROOT / "site")]
import serve  # noqa: E402
from browser import DESK, PHONE, Browser, By, Keys, Select  # noqa: E402

SITE = ROOT / "out/site"
SCREENS = ROOT / "target/site-screens"


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        SCREENS.mkdir(parents=True, exist_ok=True)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.browser.set_script_timeout(60)
        # The site is a subfolder of the server: a path other than the root.
        cls.server = serve.server(SITE.parent)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.shutdown)
        cls.roots = {"file": SITE.as_uri(), "server": f"http://127.0.0.1:{cls.server.server_port}/site"}

    def setUp(self):
        self.browser.get("about:blank")
        for kind in ("browser", "performance"):
            self.browser.get_log(kind)

    def tearDown(self):
        """No message on the console, and no request to another site."""
        self.assertEqual(self.browser.get_log("browser"), [])
        ours = ("file:", "data:", "about:", "blob:", "devtools:", self.roots["server"].rsplit("/", 1)[0])
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.assertTrue(url.startswith(ours), url)

    def open(self, page, width=DESK, dark=False, root="file"):
        self.browser.look(width, dark)
        # A new page, so that the load is complete, not just a new part behind #.
        self.browser.get("about:blank")
        self.browser.get(f"{self.roots[root]}/{page}")

    def until(self, what, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = what()
            if value:
                return value
            time.sleep(0.02)
        self.fail("it did not come")

    def playground(self, state="", **more):
        self.open(f"playground/index.html{state}", **more)
        self.done()

    def done(self):
        """Waits for a completed run."""
        script = "return document.body.dataset.pgDone && document.querySelector('#pg-status').textContent"
        return self.until(lambda: self.browser.execute_script(script))

    def again(self, act):
        """Executes an action, and waits for the run that follows; returns the new status."""
        before = self.browser.execute_script("return document.body.dataset.pgDone")
        act()
        self.until(lambda: self.browser.execute_script("return document.body.dataset.pgDone") != before)
        return self.browser.text("#pg-status")

    def press(self, name):
        """By the keyboard: a bar of the page may cover the place where a mouse would click."""
        self.browser.find_element(By.ID, name).send_keys(Keys.ENTER)

    def fits(self):
        return self.browser.execute_script(
            "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )

    def test_every_page_opens_without_an_error_and_fits_a_phone(self):
        pages = sorted(SITE.rglob("*.html"))
        self.assertGreater(len(pages), 100)
        for page in pages:
            name = str(page.relative_to(SITE))
            if name in ("toc.html", "404.html") or "print" in name:
                continue
            with self.subTest(name):
                self.open(name, PHONE)
                self.assertTrue(self.browser.find_elements(By.CSS_SELECTOR, "main h1"), "a heading")
                self.assertTrue(self.fits(), "it scrolls sideways")

    def test_search_finds(self):
        for root in self.roots:
            with self.subTest(root):
                self.open("index.html?search=aggregate_benefit", root=root)
                results = self.until(
                    lambda: self.browser.find_elements(By.CSS_SELECTOR, "#mdbook-searchresults a, #searchresults a")
                )
                self.assertTrue(any("results" in one.get_attribute("href") for one in results))

    def test_the_playground_runs_from_file_system_and_server(self):
        for root in self.roots:
            with self.subTest(root):
                self.playground(root=root)
                self.assertRegex(self.browser.text("#pg-status"), r"lia: mp0 \d+\.\d Mbit/s, tcp0 .*olia: mp0")
                rows = self.browser.find_elements(By.CSS_SELECTOR, "#pg-shares tr")
                self.assertEqual(len(rows), 3)

    def test_a_slider_changes_the_picture_in_time(self):
        self.playground("#preset=d-olia/1&a=lia&b=&seed=1&horizon=60")
        before = self.browser.text("#pg-status")
        slider = "input[data-key='link.b1.rate']"
        moved = (
            "const done = arguments[0], s = document.querySelector(\"" + slider + "\");"
            "const was = document.body.dataset.pgDone; s.value = Number(s.value) - 1; const t = performance.now();"
            "s.dispatchEvent(new Event('input', {bubbles: true}));"
            "const look = () => document.body.dataset.pgDone !== was ? done(performance.now() - t) : setTimeout(look, 1); look();"
        )
        # The browser's compiler warms up; then the median counts.
        times = sorted(self.browser.execute_async_script(moved) for _ in range(9))
        print(f"slider to picture: {[round(t) for t in times]} ms")
        self.assertNotEqual(self.browser.text("#pg-status"), before)
        self.assertLess(times[4], 150 * 3, "three times the bound: the machine of a test is not a laptop at rest")

    def test_the_link_restores_the_state(self):
        self.playground("#preset=d-olia/2&a=balia&b=cubic&seed=5&horizon=30&set=link.b2.rate%3D3000kbit")
        first = self.browser.text("#pg-status")
        link = self.browser.current_url
        self.assertIn("rate = \"3000kbit\"", self.browser.execute_script("return document.querySelector('#pg-toml').value"))
        self.again(lambda: Select(self.browser.find_element(By.ID, "pg-a")).select_by_value("olia"))
        self.assertNotEqual(self.browser.text("#pg-status"), first)
        self.browser.get("about:blank")
        self.browser.get(link)
        self.done()
        self.assertEqual(self.browser.text("#pg-status"), first)
        self.assertIn("--cc balia,cubic --seeds 5..5 --set link.b2.rate=3000kbit", self.browser.text("#pg-command"))

    def test_the_keyboard_moves_a_slider_and_stays_on_the_page(self):
        self.playground()
        slider = self.browser.find_element(By.CSS_SELECTOR, "input[data-key='link.b1.rate']")
        was = slider.get_attribute("aria-valuetext")
        self.again(lambda: slider.send_keys(Keys.ARROW_RIGHT))
        self.assertNotEqual(slider.get_attribute("aria-valuetext"), was)
        self.assertIn("/playground/", self.browser.current_url)
        self.assertEqual(self.browser.switch_to.active_element.get_attribute("data-key"), "link.b1.rate")

    def test_next_ack_explains_the_formula(self):
        self.playground("#preset=d-olia/2&a=lia&b=olia&seed=1&horizon=60")
        self.press("pg-ack")
        self.until(lambda: "Now at 2 s" in self.browser.text("#pg-steps"))
        self.until(lambda: self.browser.text("#pg-time").startswith("2.0 s"))
        for _ in range(30):
            before = self.browser.text("#pg-steps")
            self.press("pg-ack")
            self.until(lambda: self.browser.text("#pg-steps") != before)
        self.assertIn("An ACK for", self.browser.text("#pg-steps"))
        self.assertIn("Increase per acknowledged packet", self.browser.text("#pg-steps"))

    def test_play_pauses_and_goes_on(self):
        self.playground()
        Select(self.browser.find_element(By.ID, "pg-speed")).select_by_value("20")
        seconds = lambda: float(self.browser.text("#pg-time").split()[0])  # noqa: E731
        self.press("pg-play")
        self.until(lambda: 1 < seconds() < 40)
        self.press("pg-play")
        time.sleep(0.3)
        stopped = seconds()
        time.sleep(0.3)
        self.assertEqual(seconds(), stopped)
        self.press("pg-play")
        self.until(lambda: seconds() > stopped)

    def test_what_is_wrong_is_said(self):
        self.playground()
        area = self.browser.find_element(By.ID, "pg-toml")
        self.browser.execute_script("arguments[0].value = 'duration = 5'", area)
        self.press("pg-use")
        self.until(lambda: "duration" in self.browser.text("#pg-status"))
        self.again(lambda: self.press("pg-reset"))
        self.assertIn("mp0", self.browser.text("#pg-status"))

    def test_all_presets_run(self):
        self.playground("#horizon=2")
        presets = Select(self.browser.find_element(By.ID, "pg-preset"))
        names = [option.get_attribute("value") for option in presets.options]
        self.assertGreater(len(names), 25)
        for name in names[1:]:
            with self.subTest(name):
                self.again(lambda: presets.select_by_value(name))
                self.assertNotIn("wrong", self.browser.find_element(By.ID, "pg-status").get_attribute("class"))

    def test_screens(self):
        for width in (DESK, PHONE):
            for dark in (False, True):
                name = f"{width}{'-dark' if dark else ''}.png"
                self.playground("#preset=everyday/wifi-lte&a=lia&b=olia&horizon=90", width=width, dark=dark)
                self.assertTrue(self.fits(), "it scrolls sideways")
                self.browser.picture(SCREENS / f"playground-{name}", width, dark)
                for page in ("index", "docs/tutorials/first-comparison", "docs/scenarios"):
                    self.open(f"{page}.html", width, dark)
                    self.browser.picture(SCREENS / f"{page.replace('/', '-')}-{name}", width, dark)


if __name__ == "__main__":
    unittest.main(verbosity=2)
