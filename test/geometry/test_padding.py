"""A thicker robot: what it hits is nearer than the padding, by coal's exact distances."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.arms import arm, configurations, table_world
from manipapy_core import InputError
from manipapy_core.geometry import Checker
from manipapy_core.geometry.exact import ExactChecker


def test_padding_keeps_its_distance():
    _, chain, body = arm("panda")
    checker = Checker(body, table_world())
    thick = checker.padded(0.005)
    q = configurations(chain, 3000)
    thin_hits, thick_hits = checker.check(q), thick.check(q)
    assert not np.any(thin_hits & ~thick_hits)
    between = np.flatnonzero(~thin_hits & thick_hits)
    assert len(between) > 30
    exact = ExactChecker(body, checker.world)
    for row in between[:8]:
        # Pairs of links are both thicker.
        assert exact.contacts(q[row])[0].distance < 2.0 * 0.005 + 0.01
    for row in np.flatnonzero(~thick_hits)[:8]:
        worlds = [contact.distance for contact in exact.contacts(q[row]) if contact.second.startswith("box")]
        assert min(worlds) > 0.005


def test_padded_checkers_are_cached_and_follow_the_world():
    _, chain, body = arm("panda")
    checker = Checker(body, table_world())
    assert checker.padded(0.005) is checker.padded(0.005) and checker.padded(0.0) is checker
    q = configurations(chain, 500)
    before = checker.padded(0.005).check(q).sum()
    checker.world.clear()
    assert checker.padded(0.005).check(q).sum() < before
    np.testing.assert_array_equal(checker.padded(0.005).check(q), Checker(body, checker.world, padding=0.005).check(q))


@pytest.mark.parametrize("padding", [-0.1, 1.0, float("nan")])
def test_bad_padding_is_refused(padding):
    body = arm("ur5")[2]
    with pytest.raises(InputError, match="padding"):
        Checker(body, padding=padding)
    with pytest.raises(InputError, match="padding"):
        Checker(body).padded(padding)
