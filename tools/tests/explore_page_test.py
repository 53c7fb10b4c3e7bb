#!/usr/bin/env python3
"""The page of a sweep in a real headless Chromium: what a person sees, in light and dark and on a phone.

Run by CTest with ASSAY set to the program. Without a browser it is skipped (exit code 77), unless CI=true: there
it fails. ASSAY_SCREENSHOTS=DIR keeps pictures of the page.
"""
import contextlib
import csv
import json
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

import browser
from report_page_test import CONTRAST, LABELS

ASSAY = os.environ["ASSAY"]
SWEEP = """name = "page"
question = "What does a page show? <b>&"
include = ["conditioning"]
[[grid]]
measure = "scan"
implementation = ["sequential", "cumsum", "bare_linear"]
arithmetic = ["f32", "bf16"]
family = ["gates", "spikes"]
decay = [0, -4]
scale = [1, 64]
size = [16, 256, 4096]
[[grid]]
measure = "merging"
implementation = "sequential"
arithmetic = ["f16", "bf16"]
decay = [0.1, 0.5, 0.9, 1]
size = 1
[[grid]]
measure = "error"
implementation = "formula"
arithmetic = ["f32", "f16"]
family = "rope/rotate"
scale = 32
size = [1, 240, 131000]
[[grid]]
measure = "repeats"
implementation = "formula"
arithmetic = "bf16"
family = "alibi/bias,form=key"
size = 512
[[grid]]
measure = "angles"
implementation = "formula"
arithmetic = "f32"
family = "rope/extended_frequencies,scaling=yarn,factor=4,trained_length=32768"
scale = 128
size = 2047
"""


def explore(*arguments):
    return subprocess.run([ASSAY, "explore", *arguments], check=True, capture_output=True, text=True)


def setUpModule():
    global FOLDER, OUT, OTHER, BROWSER, PAGE, PRINTED
    FOLDER = tempfile.TemporaryDirectory()
    sweep = os.path.join(FOLDER.name, "page.toml")
    with open(sweep, "w", encoding="utf-8") as file:
        file.write(SWEEP)
    OUT, OTHER = os.path.join(FOLDER.name, "out"), os.path.join(FOLDER.name, "other")
    PRINTED = explore("--sweep", sweep, "--out", OUT, "--svg").stdout
    with open(sweep, "w", encoding="utf-8") as file:
        file.write(SWEEP.replace("[0, -4]", "[0]"))
    explore("--sweep", sweep, "--out", OTHER)
    PAGE = os.path.join(OUT, "index.html")
    BROWSER = browser.Browser()


def tearDownModule():
    BROWSER.close()
    FOLDER.cleanup()


def stored():
    """Results by the text of their cell."""
    cells = {}
    with contextlib.closing(sqlite3.connect(os.path.join(OUT, "sweep.sqlite"))) as file:
        for text, name, value in file.execute("SELECT text, name, value FROM cell JOIN result ON cell = id"):
            cells.setdefault(text, {})[name] = value
    return cells


class InChromium(unittest.TestCase):
    def test_every_width_in_light_and_dark(self):
        self.assertLess(os.path.getsize(PAGE), 2 << 20)
        for width in (360, 768, 1280):
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    BROWSER.open(PAGE, width, dark)
                    BROWSER.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                    requests = [r["request"]["url"] for r in BROWSER.happened("Network.requestWillBeSent")]
                    self.assertEqual([u for u in requests if not u.endswith("/index.html") and u != "data:,"], [])
                    for event in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                        self.assertEqual(BROWSER.happened(event), [])
                    self.assertLessEqual(*BROWSER.evaluate("[document.documentElement.scrollWidth, innerWidth]"))
                    self.assertEqual(BROWSER.evaluate(LABELS), [])
                    self.assertEqual(BROWSER.evaluate(CONTRAST), [])
                    self.assertEqual(BROWSER.evaluate("document.querySelector('h1').textContent"),
                                     "What does a page show? <b>&")
                    self.assertTrue(BROWSER.evaluate("[...document.querySelectorAll('table')].every(t => t.querySelector('th[scope=col]'))"))
                    if directory := os.environ.get("ASSAY_SCREENSHOTS"):
                        BROWSER.screenshot(os.path.join(directory, f"explore-{width}-{'dark' if dark else 'light'}.png"))

    def test_the_answer_and_the_command_are_those_of_this_sweep(self):
        BROWSER.open(PAGE)
        answers = BROWSER.evaluate("[...document.querySelectorAll('header #answer li')].map(e => e.textContent)")
        self.assertEqual(len(answers), 6)
        self.assertEqual(answers, [line[2:] for line in PRINTED.splitlines()[1:7]])
        self.assertEqual(PRINTED.splitlines()[0], "What does a page show? <b>&")
        self.assertIn("The first place with the row of the next one: ", answers[3])
        commands = BROWSER.evaluate("[...document.querySelectorAll('section > p.note > code')].map(e => e.textContent)")
        self.assertEqual(set(commands), {"assay explore --sweep page.toml --out page"})

    def test_numbers_are_those_of_the_file(self):
        BROWSER.open(PAGE)
        cells = stored()
        shown = {"scan": "rms", "merging": "merged_at", "conditioning": "response", "error": "largest"}
        points = BROWSER.evaluate("[...document.querySelectorAll('.point[data-cell]')].map(p => [p.dataset.cell, p.dataset.y])")
        self.assertGreater(len(points), 60)
        for text, y in points:
            value = cells[text][shown[text.split()[0]]]
            self.assertEqual(float(y), math.inf if value is None else value, text)
        values = BROWSER.evaluate("[...document.querySelectorAll('td[data-cell]')].map(t => [t.dataset.cell, t.dataset.value, "
                                  "t.closest('table').tHead.rows[0].cells[t.cellIndex].textContent])")
        checked = 0
        for text, value, column in values:
            if column in cells[text]:
                checked += 1
                self.assertEqual(float(value) if value != "nan" else None, cells[text][column], (text, column))
            elif "decay" in column:
                checked += 1
                self.assertEqual(float(value), cells[text]["digits"])
        self.assertGreater(checked, 100)

    def test_a_point_lies_where_its_number_is(self):
        """Two points of one chart fix its axes; all others must lie on them."""
        BROWSER.open(PAGE)
        for points in BROWSER.evaluate("[...document.querySelectorAll('svg.chart')].map(s => [...s.querySelectorAll("
                                       "'.point[data-cell]:not(.none):not(.zero)')].map(p => { const b = p.getBBox(); return "
                                       "[Math.log(+p.dataset.x), Math.log(+p.dataset.y), b.x + b.width / 2, b.y + b.height / 2]; }))"):
            for k in (0, 1):
                low, high = min(points, key=lambda p: p[k]), max(points, key=lambda p: p[k])
                if high[k] - low[k] < 1e-9:
                    continue
                scale = (high[k + 2] - low[k + 2]) / (high[k] - low[k])
                self.assertTrue(scale > 0 if k == 0 else scale < 0)
                for p in points:
                    self.assertAlmostEqual(p[k + 2], low[k + 2] + scale * (p[k] - low[k]), delta=2)

    def test_filters_hide_and_show(self):
        BROWSER.open(PAGE)
        visible = ("[...document.querySelectorAll('g.series')].filter(g => g.getClientRects().length && "
                   "g.style.display != 'none' && !g.closest('[hidden]')).map(g => g.dataset.%s)")
        everything = BROWSER.evaluate(visible % "implementation")
        self.assertIn("cumsum", everything)
        choose = "(() => { const f = document.querySelector('select[data-key=%s]'); f.value = '%s'; f.dispatchEvent(new Event('change')); })()"
        BROWSER.evaluate(choose % ("implementation", "sequential"))
        self.assertEqual(set(BROWSER.evaluate(visible % "implementation")), {"sequential"})
        BROWSER.evaluate(choose % ("storage", "bf16"))
        self.assertEqual(set(BROWSER.evaluate(visible % "storage")), {"bf16"})
        rows = BROWSER.evaluate("[...document.querySelectorAll('tbody tr:not([hidden])')].map(r => r.dataset.implementation)")
        self.assertEqual(set(rows), {"sequential"})
        BROWSER.evaluate("document.querySelector('form').reset(); ")
        BROWSER.evaluate("document.querySelectorAll('select').forEach(s => s.dispatchEvent(new Event('change')))")
        self.assertEqual(BROWSER.evaluate(visible % "implementation"), everything)

    def test_a_click_shows_the_command_that_measures_again(self):
        BROWSER.open(PAGE)
        self.assertTrue(BROWSER.evaluate("document.getElementById('tip').hidden"))
        point = "document.querySelector('.point[data-cell^=\"scan cumsum\"]')"
        BROWSER.evaluate(point + ".dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))")
        self.assertIn("cumsum", BROWSER.evaluate("document.querySelector('#tip span').textContent"))
        BROWSER.evaluate(point + ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        command = BROWSER.evaluate("document.querySelector('#tip code').textContent")
        self.assertRegex(command, r"^assay explore cell '.*'$")
        text = command.split("'")[1]
        again = dict(line.split() for line in explore("cell", text).stdout.splitlines())
        self.assertEqual(float(again["rms"]), float(BROWSER.evaluate(point + ".dataset.y")))
        BROWSER.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
        self.assertTrue(BROWSER.evaluate("document.getElementById('tip').hidden"))

    def test_the_keyboard_reaches_every_point(self):
        BROWSER.open(PAGE)
        BROWSER.evaluate("document.querySelector('svg.chart .point[data-cell]').focus()")
        first = BROWSER.evaluate("document.activeElement.dataset.cell")
        key = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}))"
        BROWSER.evaluate(key % "ArrowRight")
        second = BROWSER.evaluate("document.activeElement.dataset.cell")
        self.assertNotEqual(first, second)
        BROWSER.evaluate(key % "Enter")
        self.assertIn(second, BROWSER.evaluate("document.querySelector('#tip code').textContent"))

    def test_wrong_algorithms_stand_out(self):
        BROWSER.open(PAGE)
        broken = BROWSER.evaluate("[...document.querySelectorAll('td.broken')].map(t => t.dataset.cell)")
        self.assertTrue(any(text.startswith("scan bare_linear") for text in broken), broken)
        self.assertFalse(any(text.startswith("scan sequential") for text in broken), broken)

    def test_two_sweeps_side_by_side(self):
        explore("page", OTHER, "--beside", OUT)
        BROWSER.open(os.path.join(OTHER, "index.html"))
        self.assertGreater(BROWSER.evaluate("document.querySelectorAll('g.series.beside .point').length"), 20)
        self.assertGreater(BROWSER.evaluate("document.querySelectorAll('g.series:not(.beside) .point').length"), 20)
        self.assertIn("hollow marks", BROWSER.evaluate("document.querySelector('header').textContent"))


class Documents(unittest.TestCase):
    def test_csv_and_json_hold_all_results(self):
        cells = stored()
        with open(os.path.join(OUT, "cells.json"), encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual({c["cell"] for c in found["cells"]}, set(cells))
        for c in found["cells"]:
            self.assertEqual({n: float(v) if isinstance(v, str) else v for n, v in c["results"].items()}, cells[c["cell"]])
        with open(os.path.join(OUT, "cells.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), sum(map(len, cells.values())))
        for row in rows:
            text = (f"{row['measure']} {row['implementation']} {row['arithmetic']} {row['storage']} {row['family']} decay={row['decay']} "
                    f"scale={row['scale']} size={row['size']} seed={row['seed']}")
            self.assertEqual(float(row["value"]) if row["value"] else None, cells[text][row["result"]])

    def test_figures_are_files_for_papers(self):
        figures = os.listdir(os.path.join(OUT, "figures"))
        BROWSER.open(PAGE)
        self.assertEqual(len(figures), BROWSER.evaluate("document.querySelectorAll('svg.chart').length"))
        for name in figures:
            with open(os.path.join(OUT, "figures", name), encoding="utf-8") as file:
                text = file.read()
            self.assertEqual(xml.dom.minidom.parseString(text).documentElement.tagName, "svg")
            self.assertNotIn("http", text.replace("http://www.w3.org/2000/svg", ""))

    def test_findings_are_those_of_the_file(self):
        with open(os.path.join(OUT, "findings.md"), encoding="utf-8") as file:
            self.assertEqual(explore("findings", OUT).stdout, file.read())


if __name__ == "__main__":
    if browser.find() is None:
        print("no Chromium on this machine (tools/install_dependencies browser): the page was not tested")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    unittest.main()
