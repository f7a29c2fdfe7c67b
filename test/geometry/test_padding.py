"""A padded robot: what it hits is nearer than the padding, by coal's exact distances."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.arms import arm, at, configurations, table_world
from manipapy_core import InputError
from manipapy_core.geometry import Box, Checker, Cylinder, Plane, Sphere, World
from manipapy_core.geometry.exact import ExactChecker
from manipapy_core.geometry.tables import SAFETY, SELF_SAFETY

FEW_MILLIMETRES = 0.01
"""Pieces that a dozen reflections do not separate may be this far apart [m]."""


def objects_world() -> World:
    """One object of each kind around an arm, among them a floor."""
    world = World()
    world.add("floor", Plane(), at(z=-0.1))
    world.add("box", Box([0.2, 0.2, 0.5]), at(0.5, 0.1, 0.25))
    world.add("ball", Sphere(0.15), at(-0.4, 0.3, 0.4))
    world.add("post", Cylinder(0.08, 0.8), at(0.1, -0.5, 0.4))
    return world


def exact_distances(exact: ExactChecker, q) -> tuple[float, float]:
    """To the nearest object, and of the two nearest links [m]."""
    contacts = exact.contacts(q)
    objects = set(exact.world.snapshot().objects)
    to_world = min(contact.distance for contact in contacts if contact.second in objects)
    return to_world, min(contact.distance for contact in contacts if contact.second not in objects)


@pytest.mark.parametrize("name", ["panda", "ur5"])
@pytest.mark.parametrize(("padding", "self_padding"), [(0.02, 0.0), (0.0, 0.002), (0.02, 0.001), (0.0005, 0.002)])
def test_each_padding_keeps_its_distance(name, padding, self_padding):
    _, chain, body = arm(name)
    world = objects_world()
    checker, exact = Checker(body, world), ExactChecker(body, world)
    padded = checker.padded(padding, self_padding=self_padding)
    q = configurations(chain, 3000)
    thin, thick = checker.check(q), padded.check(q)
    np.testing.assert_array_equal(Checker(body, world, padding=padding, self_padding=self_padding).check(q), thick)
    assert not np.any(thin & ~thick)
    between = np.flatnonzero(~thin & thick)
    assert len(between) > 10
    for row in between[:20]:
        to_world, to_itself = exact_distances(exact, q[row])
        near_world = to_world < padding + SAFETY + FEW_MILLIMETRES
        near_itself = to_itself < 2.0 * (self_padding + SELF_SAFETY) + FEW_MILLIMETRES
        assert near_world or near_itself
    free = np.flatnonzero(~thick)
    nearest = min(free, key=lambda row: checker.distances(q[row]).distance.min())
    for row in (nearest, *free[:15]):
        to_world, to_itself = exact_distances(exact, q[row])
        assert to_world >= padding
        assert to_itself >= 2.0 * self_padding


def test_padding_leaves_the_distance_between_links_as_it_is():
    _, chain, body = arm("ur5")
    q = configurations(chain, 3000)
    np.testing.assert_array_equal(Checker(body, padding=0.1).check(q), Checker(body).check(q))
    assert Checker(body, self_padding=0.002).check(q).sum() > Checker(body).check(q).sum()


def test_padded_distances_are_smaller_by_the_padding():
    _, chain, body = arm("panda")
    checker = Checker(body, objects_world())
    q = configurations(chain, 50)
    expected = checker.distances(q).distance - 0.02
    np.testing.assert_allclose(checker.padded(0.02).distances(q).distance, expected, atol=1e-6)


def test_less_padding_than_that_of_the_checker():
    _, chain, body = arm("panda")
    world = table_world()
    q = configurations(chain, 1000)
    thick = Checker(body, world, padding=0.02, self_padding=0.01)
    np.testing.assert_array_equal(thick.padded(0.005).check(q), Checker(body, world, padding=0.005).check(q))


def test_padded_checkers_are_cached_and_follow_the_world():
    _, chain, body = arm("panda")
    checker = Checker(body, table_world())
    assert checker.padded(0.005) is checker.padded(0.005) and checker.padded(0.0) is checker
    assert checker.padded(0.005).padded(0.0) is checker
    q = configurations(chain, 500)
    before = checker.padded(0.005).check(q).sum()
    checker.world.clear()
    assert checker.padded(0.005).check(q).sum() < before
    np.testing.assert_array_equal(checker.padded(0.005).check(q), Checker(body, checker.world, padding=0.005).check(q))


@pytest.mark.parametrize("padding", [-0.1, 1.0, float("nan")])
def test_bad_padding_is_refused(padding):
    body = arm("ur5")[2]
    for name in ("padding", "self_padding"):
        with pytest.raises(InputError, match=name):
            Checker(body, **{name: padding})
        with pytest.raises(InputError, match=name):
            Checker(body).padded(**{"padding": 0.0, name: padding})
