"""Tests of conventions that operations did not have at first, run by pytest with ASSAY set to the program: a function that
knows nothing of one is asked for the standard value; one that has another is told which, and passes where it says so."""
import json
import math
import os
import subprocess

import numpy as np
import pytest

import assay

QUICK = ["--property=value"]


def deberta_bucket(r, span, maximum, clamp):
    middle, n = span // 2, min(abs(r), maximum - 1) if clamp else abs(r)
    if n <= middle:
        return r
    steps = math.log(n / middle) / math.log((maximum - 1) / middle) * (middle - 1)
    return int(math.copysign(middle + math.ceil(steps - 1e-12), r))


def deberta_scores(clamp):
    def scores(q, k, position_keys, position_queries, span, max_distance):
        n, width = q.shape[2:]
        row = np.array([[min(max(deberta_bucket(i - j, span, max_distance, clamp) + span, 0), 2 * span - 1)
                         for j in range(n)] for i in range(n)], dtype=int).reshape(n, n)
        q, k, keys, queries = (x.astype(np.float64) for x in (q, k, position_keys, position_queries))
        scores = np.einsum("bhid,bhjd->bhij", q, k) + np.einsum("bhid,hijd->bhij", q, keys[:, row])
        return (scores + np.einsum("bhjd,hijd->bhij", k, queries[:, row])) / math.sqrt(3 * width)
    return scores


def temperature(first):
    def query_temperature(position, floor_scale, attn_scale):
        return 1 + attn_scale * np.log(1 + (position + first) // floor_scale)
    return query_temperature


def rotate_blocks(x, position, base):
    """Axial halves: as RoPE2D of croco has it, for any number of axes that divide the pairs."""
    parts = np.split(x.astype(np.float64), position.shape[-1], axis=-1)
    turned = []
    for k, part in enumerate(parts):
        half = part.shape[-1] // 2
        angle = (position[..., k, None] * base ** (-np.arange(half) / half))[:, :, None]
        cos, sin, a, b = np.cos(angle), np.sin(angle), part[..., :half], part[..., half:]
        turned += [a * cos - b * sin, a * sin + b * cos]
    return np.concatenate(turned, -1)


def slopes_of_max_bias(heads, alpha_max):
    """As llama.cpp has them."""
    below = 2 ** math.floor(math.log2(heads))
    m0, m1 = 2.0 ** (-alpha_max / below), 2.0 ** (-alpha_max / 2 / below)
    return np.array([m0 ** (h + 1) if h < below else m1 ** (2 * (h - below) + 1) for h in range(heads)])


def yarn_with_width_from_below(base, pairs, factor, trained_length, beta_fast, beta_slow):
    """hi - lo is bounded from below, as in keras-hub."""
    with np.errstate(all="ignore"):
        def index(turns):
            return pairs * np.log(trained_length / (2 * np.pi * turns)) / np.log(base.astype(np.float64))
        low = np.maximum(np.floor(index(beta_fast)), 0)[:, None]
        high = np.minimum(np.ceil(index(beta_slow)), 2 * pairs - 1)[:, None]
        share = np.clip((np.arange(pairs) - low) / np.maximum(high - low, 0.001), 0, 1)
        theta = base.astype(np.float64)[:, None] ** (-np.arange(pairs) / pairs)
        return theta * (share / factor + (1 - share))


EVEN = {"d": {"multiple_of": 12}, "a": [1, 3]}
BLOCKS = {"layout": ["half_split"], "order": ["xy"], "assignment": ["blocks"], "exponent": ["per_axis"], **EVEN}
YARN = {"scaling": ["yarn"]}
CASES = {
    "deberta": ("deberta/scores", deberta_scores(False), {}, {"clamp_first": [False]}, "clamp_first = false"),
    "ministral": ("nope/temperature", temperature(0), {}, {"from_one": [False]}, "from_one = false"),
    "dust3r": ("rope_axes/rotate", rotate_blocks, BLOCKS, {"halves": ["axis"]}, 'halves = "axis"'),
    "llama.cpp": ("alibi/slopes", slopes_of_max_bias, {"first_head": [0], "all_heads": [0]}, {"alpha_of_official": [True]},
                  "alpha_of_official = true"),
    "yarn": ("rope/extended_frequencies", yarn_with_width_from_below, YARN, {"crossed": ["step"]}, 'crossed = "step"'),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_passes_where_it_says_which_it_has(name):
    operation, function, domain, convention, _ = CASES[name]
    assay.check(function, operation, dtypes=["f64"], vjp=False, options=QUICK, domain={**domain, **convention})


@pytest.mark.parametrize("name", CASES)
def test_a_function_is_told_which_it_has(name):
    operation, function, domain, _, words = CASES[name]
    with pytest.raises(AssertionError) as failure:
        assay.check(function, operation, dtypes=["f64"], vjp=False, options=QUICK, domain=domain)
    assert f"behaves as {words}: declare it (domain), or mend it" in str(failure.value)


@pytest.mark.parametrize("operation,function", [("deberta/scores", deberta_scores(True)), ("nope/temperature", temperature(1))])
def test_a_function_from_before_is_not_asked_for_it(operation, function):
    assay.check(function, operation, dtypes=["f64"], vjp=False, options=QUICK)
    candidate, requested = assay.Candidate("from before"), []
    known = {"form": ["log"], "terms": ["both"], "p2c_index": ["code"]} if operation == "deberta/scores" else {}

    @candidate.numpy(operation, ["f64"], domain=known)
    def any_settings(**given):
        requested.append(set(given))
        return {"f" if "position" in given else "s": function(**{k: x for k, x in given.items() if k not in known})}
    assay.check(candidate, options=QUICK)
    assert requested and not any({"clamp_first", "from_one"} & names for names in requested)


def test_one_that_has_a_parameter_for_it_is_asked_for_each_value():
    values = set()

    def temperatures(position, floor_scale, attn_scale, from_one):
        values.add(from_one)
        return temperature(int(from_one))(position, floor_scale, attn_scale)
    assay.check(temperatures, "nope/temperature", dtypes=["f64"], vjp=False, options=QUICK)
    assert values == {True, False}

    def ignores_it(position, floor_scale, attn_scale, from_one=True):
        return temperature(1)(position, floor_scale, attn_scale)
    with pytest.raises(AssertionError, match="behaves as from_one = true"):
        assay.check(ignores_it, "nope/temperature", dtypes=["f64"], vjp=False, options=QUICK)


def table(position, width, rule):
    """Right for even widths and the two rules of Assay 0.1."""
    assert rule != "power", "asked for a rule that came later"
    pair = np.arange(width // 2)
    angles = np.outer(position, 10000.0 ** (-2 * pair / width if rule == "paper" else -pair / max(width // 2 - 1, 1)))
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(position), width)


def test_a_value_that_came_after_its_setting_is_asked_of_who_was_written_for_it(tmp_path):
    def check(**about):
        assay.check(table, "sinusoidal/table", dtypes=["f64"], vjp=False, report=tmp_path / "report", options=QUICK, **about)
        return (tmp_path / "report" / "summary.md").read_text()
    usual = {"width": [8, 64]}
    said = check(domain=usual)
    assert 'New since 0.1, and not tested: rule = "power" of sinusoidal/table.' in said
    for about in ({"written_for": "0.2", "domain": usual}, {"domain": {**usual, "rule": ["paper", "power"]}}):
        with pytest.raises(AssertionError, match="a rule that came later"):
            check(**about)
    assert "New since" not in check(domain={**usual, "rule": ["paper"]})
    with pytest.raises(Exception, match='written_for must be a version of Assay from "0.1" to "0.2"'):
        check(written_for="7")


def test_exported_cases_have_none(tmp_path):
    subprocess.run([os.environ["ASSAY"], "cases", "--export", str(tmp_path / "cases"), "--operation", "nope/temperature",
                    "--dtype", "f64", "--property", "value"], check=True, capture_output=True)
    calls = [json.loads(line) for line in open(tmp_path / "cases" / "cases.jsonl", encoding="utf-8")]
    assert calls and all(set(call["attributes"]) == {"floor_scale", "attn_scale"} for call in calls)
