"""The pytest plugin, in runs of pytest of their own. Run by pytest with ASSAY set to the program."""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS = '''
import numpy
import pytest

FEW = ["--property=value", "--family=mild", "--max-elements=2000"]


def rotate(x, position):
    r = x.shape[-1] // 2
    theta = 10000 ** (-numpy.arange(r, dtype=x.dtype) / max(r, 1))
    angle = (position[..., None] * theta).astype(x.dtype)[:, :, None]
    a, b, rest = x[..., :r], x[..., r:2 * r], x[..., 2 * r:]
    cos, sin = numpy.cos(angle), numpy.sin(angle)
    return numpy.concatenate([a * cos - b * sin, a * sin + b * cos, rest], -1)


def test_right(assay):
    assay.check(rotate, "rope/rotate", ["f64"], domain={"layout": ["half_split"]}, options=FEW)


class TestWrong:
    @pytest.mark.parametrize("dtype", ["f32"])
    def test_layout(self, assay, dtype):
        assay.check(rotate, "rope/rotate", [dtype], options=FEW)


def test_two_checks(assay):
    for dtype in ("f32", "f64"):
        assay.check(rotate, "rope/rotate", [dtype], domain={"layout": ["half_split"]}, options=FEW)


def test_no_operation(assay):
    with pytest.raises(assay.NotAnOperation):
        assay.check(lambda a, b: a)
'''


def run(folder, *arguments, code, PYTHONPATH=FOLDER):
    """What pytest says of TESTS in a folder."""
    (folder / "test_model.py").write_text(TESTS)
    done = subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", "assay.pytest_plugin", "-p", "no:cacheprovider",
                           *arguments], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "PYTHONPATH": PYTHONPATH})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def reports(folder):
    """The folders of reports below this one."""
    return sorted(os.path.relpath(parent, folder) for parent, _, names in os.walk(folder) if "report.json" in names)


ALL = ["test_model.py/TestWrong/test_layout_f32_", "test_model.py/test_right", "test_model.py/test_two_checks",
       "test_model.py/test_two_checks-2"]


def test_a_failure_says_what_is_wrong_on_the_smallest_case(tmp_path):
    said = run(tmp_path, "--junit-xml=junit.xml", code=1)
    assert "1 failed, 3 passed" in said
    assert '- asked for layout = "interleaved", behaves as layout = "half_split"' in said
    assert re.search(r"\*\*value\*\* of `rope/rotate` in f32: y\[.*\]: expected .*\n.*Smallest case found: rope/rotate f32 B=1", said)
    assert 'assay.check(rotate, "rope/rotate", [dtype], options=FEW)' in said
    assert not re.search(r"checking\.py|pytest_plugin\.py|relay\.py|## Accuracy", said)
    kept = tmp_path / "assay-report" / ALL[0] / "counterexamples"
    assert (f"assay replay {kept / 'value-rope-rotate-f32.json'} --candidate "
            f"python:{tmp_path / 'test_model.py'}:rotate@rope/rotate") in said
    program = (kept / "value-rope-rotate-f32.py").read_text()
    assert program.strip() in "\n".join(line[1:].removeprefix("       ") for line in said.splitlines() if line[:1] == "E")
    assert reports(tmp_path / "assay-report") == ALL
    (failure,) = xml.etree.ElementTree.parse(tmp_path / "junit.xml").iter("failure")
    assert 'behaves as layout = "half_split"' in failure.get("message")


def test_an_error_is_told_once(tmp_path):
    (tmp_path / "test_broken.py").write_text(
        "def broken(log_p, h, s0):\n    raise ZeroDivisionError('no such kernel')\n\n"
        "def test_broken(assay):\n    assay.check(broken, 'heinsen/scan', ['f32', 'f64'])\n")
    said = run(tmp_path, "test_broken.py", "--show-capture=no", code=1)
    (reported,) = re.findall(r"E .*ZeroDivisionError: no such kernel.*", said)
    assert "heinsen/scan in f32, f64 gives no outputs in any of" in reported
    assert len(re.findall(r"^E .*the error stated above", said, re.M)) == 2  # pytest ends with it once more where CI is set


def test_options_and_selection(tmp_path):
    run(tmp_path, "-k", "right", "--assay-seed=7", "--assay-effort=quick", "--assay-report=kept", code=0)
    assert reports(tmp_path / "kept") == ["test_model.py/test_right"]
    assert json.loads((tmp_path / "kept/test_model.py/test_right/report.json").read_text())["seed"] == "7"
    assert not (tmp_path / "assay-report").exists()
    assert "--assay-effort: invalid choice: 'much'" in run(tmp_path, "--assay-effort=much", code=4)


def test_the_lines_of_assay_are_not_shown_and_another_plugins_fixture_is_named(tmp_path):
    (tmp_path / "other.py").write_text("import pytest\n@pytest.fixture\ndef assay():\n    return pytest\n")
    (tmp_path / "test_wrong.py").write_text("def test_domain(assay):\n    assay.check(lambda log_p, h, s0: h, 'heinsen/scan', "
                                            "domain={'layot': []})\n")
    said = run(tmp_path, "test_wrong.py", code=1)
    assert "domain: 'layot' is no input, setting or axis of heinsen/scan; known: log_p, h" in said
    assert not re.search(r"/assay/\w+\.py|PytestWarning", said)
    said = run(tmp_path, "-p", "other", "test_wrong.py", code=1, PYTHONPATH=f"{FOLDER}:{tmp_path}")
    assert "the fixture 'assay' of this test is that of the plugin other, not Assay's: leave that plugin out" in said
    (tmp_path / "conftest.py").write_text((tmp_path / "other.py").read_text())
    assert "PytestWarning" not in run(tmp_path, "test_wrong.py", code=1)


def test_with_several_processes(tmp_path):
    pytest.importorskip("xdist")
    said = run(tmp_path, "-n", "2", "--assay-report=kept", code=1)
    assert "1 failed, 3 passed" in said and 'behaves as layout = "half_split"' in said
    assert reports(tmp_path / "kept") == ALL
