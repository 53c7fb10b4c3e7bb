"""Tests of relations of axes that a domain declares, run by pytest with ASSAY set to the program."""
import html

import numpy as np
import pytest

import assay
from assay.claims import WrongClaim

QUICK = ["--property=value"]


def attend(q, k, v, bias):
    logits = (q @ np.swapaxes(k, -1, -2)) / np.sqrt(max(q.shape[-1], 1)) + bias
    with np.errstate(all="ignore"):
        weights = np.exp(logits - logits.max(-1, keepdims=True, initial=-np.inf))
        return weights / weights.sum(-1, keepdims=True) @ v


def fewer_queries_than_keys(q, k, v, bias):
    assert q.shape[2] <= k.shape[2], "more queries than keys"
    return attend(q, k, v, bias)


def square(q, k, v, bias):
    assert q.shape[2] == k.shape[2], "not as many queries as keys"
    return attend(q, k, v, bias)


def one_width(q, k, v, bias):
    assert q.shape[3] == v.shape[3], "values of another width"
    return attend(q, k, v, bias)


@pytest.mark.parametrize("function,relations,words", [
    (fewer_queries_than_keys, ["n <= m"], 'where m is less than n (the relation "n <= m" of a domain leaves them out)'),
    (square, ["n = m"], 'where m is not n (the relation "n = m" of a domain leaves them out)'),
    (one_width, ["e = d"], 'where d is not e (the relation "e = d" of a domain leaves them out)'),
])
def test_calls_of_other_sizes_are_told_and_left_out_where_it_is_declared(function, relations, words):
    claims = dict(dtypes=["f64"], vjp=False, options=QUICK)
    with pytest.raises(AssertionError) as failure:
        assay.check(function, "attention/output", **claims)
    assert words in html.unescape(str(failure.value))
    assay.check(function, "attention/output", domain={"scale": ["inverse_sqrt"], "relations": relations}, **claims)


def test_a_function_that_is_wrong_inside_a_relation_fails_with_a_small_case():
    sizes = []

    def wrong(q, k, v, bias):
        sizes.append((q.shape[2], k.shape[2]))
        return square(q, k, v, bias) + 1
    with pytest.raises(AssertionError) as failure:
        assay.check(wrong, "attention/output", dtypes=["f64"], vjp=False, options=QUICK, domain={"relations": ["n = m"]})
    assert "m=1" in str(failure.value) and "n=1" in str(failure.value)
    assert all(n == m for n, m in sizes)


@pytest.mark.parametrize("relations", ["n <= m", [], ["n < m"], ["n <= z"], [3], ["n <= n m"]])
def test_what_is_no_relation_is_refused(relations):
    with pytest.raises(WrongClaim, match="relation"):
        assay.check(attend, "attention/output", dtypes=["f64"], vjp=False, domain={"relations": relations})
