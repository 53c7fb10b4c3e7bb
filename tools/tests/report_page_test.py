#!/usr/bin/env python3
"""index.html in a real headless Chromium: what a person sees, in light and dark and on a phone.

Run by CTest with ASSAY set to the program. Without a browser it is skipped (exit code 77), unless CI=true: there
it fails. ASSAY_SCREENSHOTS=DIR keeps pictures of the pages.
"""
import os
import sys
import tempfile
import unittest

import browser
from reports import Reports, drawn_checks, report_of

WIDTHS = (375, 768, 1280)

# Pairs of texts of one picture whose boxes meet, and texts that leave their picture.
LABELS = """[...document.querySelectorAll('svg.chart')].flatMap(svg => {
  const frame = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll('text')];
  const boxes = texts.map(t => [t.textContent, t.getBoundingClientRect()]), wrong = [];
  boxes.forEach(([name, a], i) => {
    if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1)
      wrong.push('outside: ' + name);
    boxes.slice(i + 1).forEach(([other, b]) => {
      if (a.left < b.right - .5 && b.left < a.right - .5 && a.top < b.bottom - .5 && b.top < a.bottom - .5)
        wrong.push(name + ' over ' + other);
    });
  });
  return wrong;
})"""

# Text too faint to read: the contrast of WCAG 2.1, of every element with text of its own.
CONTRAST = """(() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number), wrong = [];
  const light = c => { const f = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
                       return .2126 * f(c[0]) + .7152 * f(c[1]) + .0722 * f(c[2]); };
  for (const e of document.body.querySelectorAll('*')) {
    if (![...e.childNodes].some(n => n.nodeType == 3 && n.textContent.trim()) || e.closest('svg title, svg desc')) continue;
    let layers = [], at = e;
    for (; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    let back = [255, 255, 255];
    for (const l of layers.reverse()) { const a = l.length > 3 ? l[3] : 1; back = back.map((b, i) => a * l[i] + (1 - a) * b); }
    const style = getComputedStyle(e), front = parse(e.closest('svg') ? style.fill : style.color);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) wrong.push(e.tagName + '.' + e.className + ' ' + ((a + .05) / (b + .05)).toFixed(2));
  }
  return [...new Set(wrong)];
})()"""


def setUpModule():
    global FOLDER, REPORTS, BROWSER
    FOLDER = tempfile.TemporaryDirectory()
    REPORTS = Reports(FOLDER.name).make()
    BROWSER = browser.Browser()


def tearDownModule():
    BROWSER.close()
    FOLDER.cleanup()


class InChromium(unittest.TestCase):
    def pages(self):
        for name, folder in REPORTS.items():
            for width in WIDTHS:
                for dark in (False, True):
                    with self.subTest(page=name, width=width, dark=dark):
                        BROWSER.open(os.path.join(folder, "index.html"), width, dark)
                        BROWSER.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                        yield name, report_of(folder)
                        if directory := os.environ.get("ASSAY_SCREENSHOTS"):
                            BROWSER.screenshot(os.path.join(directory, f"{name}-{width}-{'dark' if dark else 'light'}.png"))

    def test_every_page_at_every_width(self):
        seen = 0
        for name, report in self.pages():
            seen += 1
            # Nothing is loaded, nothing is said on the console.
            requests = [r["request"]["url"] for r in BROWSER.happened("Network.requestWillBeSent")]
            self.assertEqual([u for u in requests if not u.endswith("/index.html") and u != "data:,"], [])
            for event in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                self.assertEqual(BROWSER.happened(event), [])
            # The verdict stands first, large, and in sight.
            self.assertTrue(BROWSER.evaluate("document.body.innerText").lower().startswith(report["verdict"] + ":"))
            top, size = BROWSER.evaluate("(() => { const h = document.querySelector('h1'); return "
                                         "[h.getBoundingClientRect().top, parseFloat(getComputedStyle(h).fontSize)]; })()")
            self.assertTrue(0 <= top < 100 and size >= 22, (top, size))
            # Nothing sticks out to the side.
            self.assertLessEqual(*BROWSER.evaluate("[document.documentElement.scrollWidth, innerWidth]"))
            self.assertEqual(BROWSER.evaluate(LABELS), [])
            self.assertEqual(BROWSER.evaluate(CONTRAST), [])
            # One picture per operation and dtype, one point per power of two.
            panels = [len(c["error_along"]["steps"]) for c in drawn_checks(report)]
            self.assertEqual(BROWSER.evaluate("[...document.querySelectorAll('svg.chart')].map(s => "
                                              "s.querySelectorAll('.point').length)"), panels)
            self.assertTrue(BROWSER.evaluate("[...document.querySelectorAll('svg.chart .point')].every(p => { const a = "
                                             "p.getBoundingClientRect(), b = p.closest('svg').querySelector('.frame')"
                                             ".getBoundingClientRect(); return a.left >= b.left && a.right <= b.right && "
                                             "a.top >= b.top - 1 && a.bottom <= b.bottom + 1; })"))
            # For those who listen: every table has column headers, every picture a title.
            self.assertTrue(BROWSER.evaluate("[...document.querySelectorAll('table')].every(t => t.querySelector('th[scope=col]'))"))
            self.assertTrue(BROWSER.evaluate("[...document.querySelectorAll('svg.chart')].every(s => s.querySelector(':scope > title')"
                                             " && s.querySelector(':scope > desc'))"))
        self.assertEqual(seen, len(REPORTS) * len(WIDTHS) * 2)

    def test_a_failure_shows_its_case(self):
        BROWSER.open(os.path.join(REPORTS["failing"], "index.html"))
        report = report_of(REPORTS["failing"])
        first = next(c["counterexample"] for c in report["checks"] if "counterexample" in c)
        text = BROWSER.evaluate("document.querySelector('details.failure[open]').innerText")
        self.assertIn(first["replay"], text)
        self.assertIn(first["message"], text)
        values = [float.fromhex(v) for v in first["expected"]["s"]["values"]]
        shown = BROWSER.evaluate("[...document.querySelectorAll('details.failure[open] table')].flatMap(t => "
                                 "[...t.querySelectorAll('td')].map(c => c.textContent))")
        for v in values:
            self.assertTrue(any(abs(float(s) - v) <= 1e-8 * abs(v) for s in shown if s not in ("–",)), (v, shown))


if __name__ == "__main__":
    if browser.find() is None:
        print("no Chromium on this machine (tools/install_dependencies browser): the page was not tested")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    unittest.main()
