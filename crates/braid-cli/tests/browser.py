#!/usr/bin/python3
"""The HTML report in a real browser, headless Chromium: it draws, loads nothing from the network, and fits.

    crates/braid-cli/tests/browser.py                      the tests; pages and screenshots are left in target/report
    crates/braid-cli/tests/browser.py --picture FILE.png   only the picture of docs/report.md

Needs chromium, chromedriver and python3-selenium (scripts/setup --test installs them), and target/debug/braid.
"""

import base64
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

ROOT = pathlib.Path(__file__).resolve().parents[3]
BRAID = ROOT / "target/debug/braid"
OUT = ROOT / "target/report"
DESK, PHONE = 1440, 390

# A scenario's author must not be able to run code in the page.
HOSTILE = """
title = "</script><script>injected = 1</script><img src=x onerror='injected = 1'>"
story = "<b onclick='injected = 1'>&amp; <!-- <script>"
duration = "5s"
cc = ["lia", "olia"]
[link.b1]
rate = "10mbit"
delay = "5ms"
queue = "50p"
loss = "0.1%"
[connection.mp0]
kind = "mptcp"
[connection.mp0.subflow.sf1]
route = ["b1"]
[connection.tcp0]
kind = "tcp"
cc = "reno"
route = ["b1"]
"""

# Short runs: these tests check the page.
PAGES = {
    "wifi-lte": "everyday/wifi-lte --cc lia,olia,cubic --seeds 3",
    "disjoint": "analysis/disjoint --seeds 2 --set noise=random --set duration=40s --set warmup=5s --set cooldown=5s",
    "two": "d-olia/1 d-olia/2 --cc lia,olia --set duration=20s",
    "labels": "ba-mpcubic/2 --cc split:sbd=all,lia --set duration=20s",
    "hostile": "</script>.toml",
}


def make(name, what):
    """A page; its path."""
    OUT.mkdir(parents=True, exist_ok=True)
    page = OUT / f"{name}.html"
    with tempfile.TemporaryDirectory() as folder:
        if name == "hostile":
            (pathlib.Path(folder) / "<").mkdir()
            (pathlib.Path(folder) / "</script>.toml").write_text(HOSTILE)
        command = [BRAID, "run", *what.split(), "--quiet", "--report", page]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return page


class Browser(webdriver.Chrome):
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in (
            "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
            " disable-component-update disable-sync disable-dev-shm-usage hide-scrollbars"
        ).split():
            options.add_argument(f"--{argument}")
        options.add_argument(f"--user-data-dir={self.profile.name}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        super().__init__(service=Service("/usr/bin/chromedriver"), options=options)

    def look(self, width, dark=False, height=900):
        """A screen with this width in CSS pixels."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        # Two frames: one until the page has the event, one until it has drawn.
        self.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def show(self, page, width=DESK, dark=False):
        self.look(width, dark)
        self.get(page.as_uri())

    def picture(self, path, width, dark=False, clip=None):
        """The whole page, or its part `clip`."""
        self.look(width, dark)
        self.look(width, dark, self.execute_script("return document.documentElement.scrollHeight"))
        more = {"clip": {**clip, "scale": 0.8}} if clip else {}
        shot = self.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", **more})
        path.write_bytes(base64.b64decode(shot["data"]))
        self.look(width, dark)

    def text(self, selector):
        return self.find_element(By.CSS_SELECTOR, selector).text

    def choose(self, name, index):
        Select(self.find_element(By.CSS_SELECTOR, f"#choose-{name} select")).select_by_index(index)

    def lines(self, chart):
        """The paths of a chart that are long enough to be data."""
        script = "return [...document.querySelectorAll(arguments[0] + ' svg path')].map((p) => p.getAttribute('d'))"
        return [path for path in self.execute_script(script, chart) if path and len(path) > 150]

    def boxes(self):
        """For each box plot its title and number of marks."""
        return self.execute_script(
            "return [...document.querySelectorAll('#boxes figure')].map((f) =>"
            " [f.querySelector('h3').textContent, f.querySelectorAll('svg path').length])"
        )


class ReportInABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = {name: make(name, what) for name, what in PAGES.items()}
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        self.browser.get("about:blank")
        for kind in ("browser", "performance"):
            self.browser.get_log(kind)

    def tearDown(self):
        """After every test: no message on the console, and only the page itself was loaded."""
        self.assertEqual(self.browser.get_log("browser"), [])
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.assertTrue(url.startswith(("file:", "data:", "about:", "blob:")), url)

    def test_every_chart_has_marks(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                self.browser.show(page)
                for chart in ("#cwnd", "#rtt", "#rate", "#queue"):
                    self.assertGreaterEqual(len(self.browser.lines(chart)), 1, chart)
                boxes = self.browser.boxes()
                self.assertGreater(len(boxes), 5)
                for title, marks in boxes:
                    self.assertGreater(marks, 6, title)

    def test_a_subflow_is_a_line_and_can_be_hidden_with_the_keyboard(self):
        self.browser.show(self.pages["disjoint"])
        self.assertEqual(len(self.browser.lines("#rate")), 3)
        button = self.browser.find_element(By.CSS_SELECTOR, "#subflows button")
        self.assertEqual((button.text, button.get_attribute("aria-pressed")), ("mp0 sf1", "true"))
        button.send_keys(Keys.SPACE)
        self.assertEqual(button.get_attribute("aria-pressed"), "false")
        self.assertEqual(len(self.browser.lines("#rate")), 2)
        button.send_keys(Keys.ENTER)
        self.assertEqual(len(self.browser.lines("#rate")), 3)

    def test_what_is_chosen_is_drawn(self):
        self.browser.show(self.pages["disjoint"])
        seen = set()
        for cell, cc, seed in itertools.product((0, 11), (0, 2), (0, 1)):
            self.browser.choose("cell", cell)
            self.browser.choose("cc", cc)
            self.browser.choose("seed", seed)
            note = self.browser.text("#series-note")
            for word in (("12mbit", "24mbit")[cell > 0], ("lia", "balia")[cc > 0], f"seed {seed + 1}"):
                self.assertIn(word, note)
            seen.add("".join(self.browser.lines("#cwnd")))
        self.assertEqual(len(seen), 8, "eight runs look different")

    def test_another_scenario_brings_its_own_choices(self):
        self.browser.show(self.pages["two"])
        first = (self.browser.text("#subflows"), "".join(self.browser.lines("#cwnd")))
        self.browser.choose("part", 1)
        self.assertIn("d-olia/2", self.browser.text("#series-note"))
        self.assertNotEqual(first, (self.browser.text("#subflows"), "".join(self.browser.lines("#cwnd"))))
        self.assertIn("tcp0", self.browser.text("#subflows"))

    def test_all_cells_show_the_figure_that_is_chosen(self):
        self.browser.show(self.pages["disjoint"])
        marks = "return document.querySelector('#all-cells svg').innerHTML"
        first = self.browser.execute_script(marks)
        self.assertEqual(first.count("rtt2"), 12)
        self.browser.choose("figure", 4)
        self.assertNotEqual(first, self.browser.execute_script(marks))
        self.browser.show(self.pages["wifi-lte"])
        self.assertFalse(self.browser.find_element(By.ID, "cells").is_displayed(), "there is one cell only")

    def test_the_time_axis_zooms_in_all_charts_together(self):
        self.browser.show(self.pages["wifi-lte"])
        whole = [self.browser.lines(chart) for chart in ("#cwnd", "#rtt", "#queue")]
        start = self.browser.find_element(By.ID, "from")
        start.clear()
        start.send_keys("40", Keys.TAB)
        zoomed = [self.browser.lines(chart) for chart in ("#cwnd", "#rtt", "#queue")]
        for before, after in zip(whole, zoomed):
            self.assertNotEqual(before, after)
        self.browser.find_element(By.ID, "whole").click()
        self.assertEqual(start.get_attribute("value"), "0")
        self.assertEqual(whole, [self.browser.lines(chart) for chart in ("#cwnd", "#rtt", "#queue")])

    def test_a_chart_that_is_zoomed_by_hand_takes_the_others_along(self):
        self.browser.show(self.pages["wifi-lte"])
        before = self.browser.lines("#cwnd")
        queue = self.browser.find_element(By.ID, "queue")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", queue)
        # The left handle of the slider below the last chart.
        x, y = 52 - queue.rect["width"] / 2, queue.rect["height"] / 2 - 17
        drag = ActionChains(self.browser).move_to_element_with_offset(queue, x, y).click_and_hold()
        drag.move_by_offset(150, 0).move_by_offset(150, 0).release().perform()
        self.assertGreater(float(self.browser.find_element(By.ID, "from").get_attribute("value")), 10)
        self.assertNotEqual(before, self.browser.lines("#cwnd"))

    def test_two_algorithms_stand_beside_each_other_on_the_same_scale(self):
        self.browser.show(self.pages["wifi-lte"])
        self.assertFalse(self.browser.find_element(By.ID, "cwnd-beside").is_displayed())
        self.browser.choose("beside", 3)
        self.assertIn("lia beside cubic", self.browser.text("#series-note"))
        for chart in ("#cwnd", "#rtt", "#rate", "#queue"):
            left, right = self.browser.lines(chart), self.browser.lines(f"{chart}-beside")
            self.assertEqual(len(left), len(right))
            self.assertNotEqual(left, right)
        ticks = [set(self.browser.text(chart).split()) - {"lia", "cubic"} for chart in ("#rate", "#rate-beside")]
        self.assertEqual(ticks[0], ticks[1])

    def test_labels_of_a_detector_have_a_chart_and_an_algorithm_without_one_has_none(self):
        self.browser.show(self.pages["labels"])
        chart = self.browser.find_element(By.ID, "group")
        self.assertTrue(chart.is_displayed())
        self.assertEqual(len(self.browser.lines("#group")), 2, "a lane for each subflow, none for TCP")
        self.assertIn("sf2", self.browser.text("#group"))
        self.assertIn("detectors' labels", self.browser.text("main"))
        self.browser.choose("cc", 1)
        self.assertFalse(chart.is_displayed())

    def test_outages_are_shaded_and_listed(self):
        self.browser.show(self.pages["wifi-lte"])
        self.assertIn("45 to 75 s wifi down", self.browser.text("#events"))
        self.assertIn("wifi down", self.browser.text("#cwnd"))

    def test_no_page_scrolls_sideways(self):
        for name, page in self.pages.items():
            self.browser.show(page, PHONE)
            for width in (PHONE, 320, 768, DESK):
                with self.subTest(name, width=width):
                    self.browser.look(width)
                    script = "return document.documentElement.scrollWidth"
                    self.assertLessEqual(self.browser.execute_script(script), width)

    def test_captions_stay_in_sight_where_a_table_is_wider_than_the_screen(self):
        self.browser.show(self.pages["disjoint"], PHONE)
        script = (
            "return [...document.querySelectorAll('.wide caption')].map((caption) => {"
            " const wide = caption.closest('.wide'); wide.scrollLeft = 100;"
            " const { left, right } = caption.getBoundingClientRect();"
            " return [wide.scrollLeft, left, right]; })"
        )
        tables = self.browser.execute_script(script)
        self.assertGreater(max(scrolled for scrolled, _, _ in tables), 0)
        for _, left, right in tables:
            self.assertTrue(0 <= left < right <= PHONE, (left, right))

    def test_charts_follow_the_width_of_the_window(self):
        self.browser.show(self.pages["disjoint"])
        self.browser.look(PHONE)
        script = (
            "return [...document.querySelectorAll('.canvas svg')].every((svg) =>"
            " svg.getBoundingClientRect().width <= innerWidth)"
        )
        self.assertTrue(self.browser.execute_script(script))

    def test_findings_and_tables_need_no_script(self):
        self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            self.browser.get(self.pages["disjoint"].as_uri())
            self.assertIn("The charts need JavaScript", self.browser.text("noscript"))
            self.assertIn("less than one TCP", self.browser.text(".findings"))
            rows = self.browser.find_elements(By.CSS_SELECTOR, "table:first-of-type tbody tr")
            self.assertGreaterEqual(len(rows), 36)
            self.assertRegex(rows[0].text, r"12mbit 10ms 10ms lia [\d.]+ ±")
            self.assertFalse(self.browser.find_element(By.ID, "charts").is_displayed())
        finally:
            self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    def test_text_of_a_scenario_runs_nothing(self):
        self.browser.show(self.pages["hostile"])
        self.assertIn("</script><script>injected", self.browser.text("h1"))
        self.assertIn("</script>.toml", self.browser.text("#series-note"))
        self.browser.find_element(By.CSS_SELECTOR, ".story").click()
        self.assertFalse(self.browser.execute_script("return 'injected' in window"))

    def test_a_dark_screen_gets_a_dark_page_and_paper_a_white_one(self):
        self.browser.show(self.pages["wifi-lte"])
        background = "return getComputedStyle(document.body).backgroundColor"
        light = self.browser.execute_script(background)
        strokes = "return document.querySelector('#cwnd svg').innerHTML"
        drawn = self.browser.execute_script(strokes)
        self.browser.look(DESK, dark=True)
        self.assertNotEqual(light, self.browser.execute_script(background))
        self.assertNotEqual(drawn, self.browser.execute_script(strokes), "charts are drawn again in lighter colours")
        pdf = self.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        (OUT / "wifi-lte.pdf").write_bytes(base64.b64decode(pdf["data"]))
        self.browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(light, self.browser.execute_script(background))
        self.browser.execute_script("dispatchEvent(new Event('afterprint'))")

    def test_every_control_has_a_name(self):
        self.browser.show(self.pages["two"])
        nodes = self.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        controls = {"button", "combobox", "spinbutton", "image", "region"}
        found = [node for node in nodes if node.get("role", {}).get("value") in controls and not node["ignored"]]
        self.assertGreater(len(found), 15)
        for node in found:
            self.assertTrue(node.get("name", {}).get("value"), node)

    def test_screenshots_for_people(self):
        for name, width in itertools.product(("wifi-lte", "disjoint", "two"), (DESK, PHONE)):
            self.browser.show(self.pages[name], width)
            for scheme in ("light", "dark"):
                path = OUT / f"{name}-{width}-{scheme}.png"
                self.browser.picture(path, width, scheme == "dark")
                self.assertGreater(path.stat().st_size, 50_000, path)

class PapersInABrowser(unittest.TestCase):
    """The papers' report: no script, so the tests check what every reader sees."""

    @classmethod
    def setUpClass(cls):
        OUT.mkdir(parents=True, exist_ok=True)
        cls.page = OUT / "papers.html"
        results = sorted(str(path) for path in (ROOT / "papers/results").glob("*.json"))
        command = [BRAID, "repro", "--from", *results, "--quiet", "--report", cls.page]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        self.browser.get("about:blank")
        self.browser.get_log("browser")

    def tearDown(self):
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_it_is_small_and_has_no_script(self):
        text = self.page.read_text()
        self.assertLess(len(text), 5_000_000)
        self.assertNotIn("<script", text)

    def test_it_fits_a_desk_and_a_phone_in_light_and_dark(self):
        for width, dark in itertools.product((1400, PHONE), (False, True)):
            with self.subTest(width=width, dark=dark):
                self.browser.show(self.page, width, dark)
                wide = self.browser.execute_script("return document.documentElement.scrollWidth")
                self.assertLessEqual(wide, width)
                name = f"papers-{width}-{'dark' if dark else 'light'}.png"
                self.browser.picture(OUT / name, width, dark, {"x": 0, "y": 0, "width": width, "height": 4000})

    def test_every_paper_has_a_drawing_and_a_chart_and_all_its_claims(self):
        self.browser.show(self.page)
        for key, claims in (("analysis", 118), ("ba-mpcubic", 159), ("coupled-cubic", 16), ("d-olia", 53), ("lia-evaluation", 41)):
            paper = self.browser.find_element(By.ID, key)
            self.assertEqual(len(paper.find_elements(By.CSS_SELECTOR, "details.claim")), claims, key)
            self.assertGreater(len(paper.find_elements(By.CSS_SELECTOR, "svg.topology path.way")), 2, key)
        for key in ("analysis", "d-olia", "ba-mpcubic"):
            self.assertGreater(len(self.browser.find_elements(By.CSS_SELECTOR, f"#{key} svg.plot .diamond")), 10, key)

    def test_experiments_about_detection_show_labels_and_truth_under_throughput(self):
        self.browser.show(self.page)
        strips = self.browser.find_elements(By.CSS_SELECTOR, "#ba-mpcubic svg.strip")
        self.assertGreaterEqual(len(strips), 10)
        shown = next(strip for strip in strips if strip.is_displayed())
        for part in ("path.rate", "rect.said", "rect.truth"):
            self.assertGreater(len(shown.find_elements(By.CSS_SELECTOR, part)), 1, part)
        self.browser.picture(OUT / "papers-strip.png", 1400, False, shown.rect)

    def test_boxes_choose_which_claims_are_shown(self):
        self.browser.show(self.page)
        shown = "return [...document.querySelectorAll('details.claim')].filter((c) => c.offsetParent).length"
        before = self.browser.execute_script(shown)
        box = self.browser.find_element(By.ID, "show-holds")
        box.send_keys(Keys.SPACE)
        held = len(self.browser.find_elements(By.CSS_SELECTOR, "details.claim.holds"))
        self.assertEqual(self.browser.execute_script(shown), before - held)
        self.assertGreater(held, 100)

    def test_a_claim_opens_by_keyboard_and_by_its_link_and_says_why_it_fails(self):
        self.browser.show(self.page)
        summary = self.browser.find_element(By.CSS_SELECTOR, "#d-olia details.claim.fails > summary")
        summary.send_keys(Keys.ENTER)
        claim = summary.find_element(By.XPATH, "..")
        self.assertIsNotNone(claim.get_attribute("open"))
        self.assertIn("Why:", claim.text)
        self.assertIn("braid repro d-olia --claim", claim.text)
        self.browser.get(self.page.as_uri() + "#analysis-c62")
        self.assertTrue(self.browser.find_element(By.ID, "analysis-c62").is_displayed())

    def test_an_audit_finds_nothing_that_keeps_people_out(self):
        axe = ROOT / "site/node_modules/axe-core/axe.min.js"
        if not axe.is_file():
            self.skipTest("axe-core is missing: npm ci --prefix site")
        for width, dark in ((1400, False), (PHONE, True)):
            self.browser.show(self.page, width, dark)
            # Folded parts are checked, too.
            self.browser.execute_script("document.querySelectorAll('#coupled-cubic details').forEach((d) => { d.open = true; })")
            self.browser.execute_script(axe.read_text())
            self.browser.set_script_timeout(300)
            found = self.browser.execute_async_script(
                "const done = arguments[0]; axe.run(document, { resultTypes: ['violations'] }).then("
                "(r) => done(r.violations.map((v) => [v.id, v.impact, v.nodes.length, v.nodes[0].html.slice(0, 200)])))"
            )
            self.assertEqual(found, [])

    def test_print_shows_what_is_folded(self):
        self.browser.show(self.page)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        height = self.browser.execute_script("return document.querySelector('#d-olia details.claim .place').offsetHeight")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        self.assertGreater(height, 0)


def picture(path):
    """One run over time, small enough for a document."""
    page = make("picture", "everyday/wifi-lte --seeds 5")
    browser = Browser()
    try:
        browser.show(page, 1000)
        browser.choose("cc", 1)
        box = browser.execute_script(
            "const box = document.querySelector('#series').getBoundingClientRect();"
            "return {x: 0, y: box.top + scrollY - 16, width: 1000, height: box.height + 32}"
        )
        browser.picture(path, 1000, clip=box)
    finally:
        browser.quit()


if __name__ == "__main__":
    os.environ["NO_PROXY"] = "localhost,127.0.0.1"
    if len(sys.argv) == 3 and sys.argv[1] == "--picture":
        picture(pathlib.Path(sys.argv[2]).resolve())
    else:
        unittest.main()
