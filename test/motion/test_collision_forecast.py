"""Collision forecasts against exact distances, for motions towards and away from objects and the arm itself."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from geometry.arms import arm, at, table_boxes
from manipapy_core import InputError, kinematics
from manipapy_core.geometry import Box, World
from manipapy_core.geometry.exact import ExactChecker, exact_distance
from manipapy_core.motion import CollisionForecaster, ForecastSettings, PathPreview
from manipapy_core.motion.collision_forecast import FLOOR
from manipapy_core.trajectory import BrakingLimits
from manipapy_core.trajectory.stopping import stop_durations, stopping_path

READY = {
    "ur5": np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0]),
    "panda": np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]),
}
FOLDED = {
    "ur5": ("elbow_joint", np.array([0.0, -1.2, 2.4, -1.57, -1.57, 0.0])),
    "panda": ("panda_joint4", np.array([0.0, 0.6, 0.0, -2.6, 0.0, 1.0, 0.785])),
}
"""Closing this joint farther folds the arm into itself."""


SAMPLES = 6


def forecaster(name: str, **settings) -> CollisionForecaster:
    _, chain, body = arm(name)
    return CollisionForecaster(body, BrakingLimits.of(chain), ForecastSettings(**settings))


def distance_to_box(exact: ExactChecker, q) -> float:
    """Of the arm to the object named box, by coal [m]."""
    pairs = (pair for pair in exact._pairs(q, None) if "box" in pair[0])
    return min(exact_distance(*first, *second).distance for _, first, second in pairs)


@functools.cache
def offset_of(name: str, gap: float) -> float:
    """Where a box must be so that the ready arm is a gap [m] away from it."""
    _, chain, body = arm(name)
    tip, world = kinematics.forward(chain, READY[name])[:3, 3], World()
    low, high = 0.0, 0.6
    for _ in range(15):  # the distance grows with the offset
        middle = 0.5 * (low + high)
        world.add("box", Box([0.2, 0.2, 0.2]), at(tip[0], tip[1] + 0.1 + middle, tip[2]))
        nearer = distance_to_box(ExactChecker(body, world), READY[name]) < gap
        low, high = (middle, high) if nearer else (low, middle)
    return high


def box_beside(name: str, gap: float) -> World:
    """A box that the ready arm is a gap [m] away from, in the direction of its first joint's motion."""
    _, chain, _ = arm(name)
    tip, world = kinematics.forward(chain, READY[name])[:3, 3], World()
    world.add("box", Box([0.2, 0.2, 0.2]), at(tip[0], tip[1] + 0.1 + offset_of(name, gap), tip[2]))
    return world


def stop_rows(own: CollisionForecaster, q, qd, count: int = 24):
    s, brake = own.settings, own.bounds.brake
    end = s.reaction_time + stop_durations(qd, brake).max()
    return stopping_path(q, qd, brake, s.reaction_time, np.linspace(0.0, end, count))


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_a_free_forecast_stops_before_contact_and_a_hold_is_needed(name):
    pytest.importorskip("coal")
    _, chain, body = arm(name)
    own, rng, world = forecaster(name), np.random.default_rng(3), World()
    for number, row in enumerate(table_boxes(count=6)):
        world.add(f"box {number}", Box(2 * row[3:]), at(*row[:3]))
    exact = ExactChecker(body, world)
    counts = {0.0: 0, 1.0: 0}
    for _ in range(200):
        q = READY[name] + rng.uniform(-0.8, 0.8, chain.n)
        qd = rng.uniform(-1.0, 1.0, chain.n) * np.minimum(chain.limits.velocity, 2.0)
        world.move("box 0", world.snapshot().objects["box 0"].T_base_object)  # another version: forget where it was
        found = own.forecast(q, qd, world.snapshot())
        if own._world._level != 0 or own._arm._level != 0 or counts[found.speed] >= SAMPLES:
            continue
        counts[found.speed] += 1
        nearest = min(exact.contacts(row)[0].distance for row in stop_rows(own, q, qd))
        if found.speed == 1.0:
            # The forecast takes a little of the velocity for noise, which the margin covers.
            assert nearest > 0.0
        else:
            assert nearest < own.settings.margin + 0.02
            assert found.link and found.other
        if min(counts.values()) >= SAMPLES:
            break
    assert min(counts.values()) == SAMPLES


@pytest.mark.parametrize("name", ["ur5", "panda"])
@pytest.mark.parametrize("gap", [0.003, 0.001, -0.004])
def test_an_arm_near_or_in_contact_may_move_away_but_not_nearer(name, gap):
    pytest.importorskip("coal")
    world, q = box_beside(name, gap), READY[name]
    pan = np.eye(len(q))[0]
    for speed in (0.2, 0.5):
        assert forecaster(name).forecast(q, -speed * pan, world.snapshot()).speed == 1.0
        towards = forecaster(name).forecast(q, speed * pan, world.snapshot())
        assert towards.speed == 0.0
        assert towards.other == "box"
    assert forecaster(name).forecast(q, 0.0 * pan, world.snapshot()).speed == 1.0


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_folding_into_itself_is_held_and_unfolding_is_not(name):
    _, chain, _ = arm(name)
    joint, q = FOLDED[name]
    j = chain.joint_names.index(joint)
    towards = np.sign(q[j])
    own, world = forecaster(name), World().snapshot()
    while own.forecast(q, 0.8 * towards * np.eye(chain.n)[j], world).speed == 1.0:
        q = q + 0.01 * towards * np.eye(chain.n)[j]
        assert abs(q[j]) < 3.3, "nothing to hit"
    held = own.forecast(q, 0.8 * towards * np.eye(chain.n)[j], world)
    assert {held.link, held.other} <= set(chain.link_names)
    assert not own._arm._hits(0.0, q[None]).any()
    assert own.forecast(q, -0.8 * towards * np.eye(chain.n)[j], world).speed == 1.0


def test_noise_of_an_arm_at_rest_beside_an_object_is_no_alarm():
    pytest.importorskip("coal")
    world, q, rng = box_beside("ur5", 0.0045).snapshot(), READY["ur5"], np.random.default_rng(0)
    own = forecaster("ur5", velocity_noise=0.06)
    for _ in range(500):
        noisy = q + rng.normal(0.0, 1e-4, 6)
        assert own.forecast(noisy, np.clip(rng.normal(0.0, 0.02, 6), -0.06, 0.06), world).speed == 1.0


def test_creeping_below_the_velocity_noise_is_held_before_contact():
    pytest.importorskip("coal")
    _, _, body = arm("ur5")
    world, q = box_beside("ur5", 0.008), READY["ur5"].copy()
    own, exact = forecaster("ur5"), ExactChecker(body, world)
    while own.forecast(q, np.zeros(6), world.snapshot()).speed == 1.0:
        q[0] += 1e-4
        assert q[0] < 0.1, "never held"
    assert 0.0 < distance_to_box(exact, q) < 0.004
    # It is held for a while, then free to leave.
    assert [own.forecast(q, np.zeros(6), world.snapshot()).speed for _ in range(20)][-1] == 1.0
    assert own.forecast(q, np.array([-0.3, 0, 0, 0, 0, 0]), world.snapshot()).speed == 1.0


def preview(q, to, count: int = 25, spacing: float = 0.02) -> PathPreview:
    """At constant speed."""
    return PathPreview(q + np.linspace(0.0, 1.0, count)[:, None] * (to - q), spacing)


def test_a_trajectory_slows_down_towards_an_object_and_is_held_at_it():
    pytest.importorskip("coal")
    world, own = box_beside("ur5", 0.12).snapshot(), forecaster("ur5")
    speeds = []
    for pan in np.arange(-0.6, 0.6, 0.01):
        q = READY["ur5"] + np.array([pan, 0, 0, 0, 0, 0])
        path = preview(q, q + np.array([0.3, 0, 0, 0, 0, 0]))
        rate = speeds[-1] if speeds else 1.0
        found = own.forecast(q, rate * 0.625 * np.eye(6)[0], world, PathPreview(path.positions, path.spacing, rate))
        speeds.append(found.speed)
        if not found.speed:
            break
    assert speeds[0] == 1.0 and speeds[-1] == 0.0
    assert np.all(np.diff(speeds) <= 0.0)
    assert len({speed for speed in speeds if 0.0 < speed < 1.0}) > 3


def test_a_trajectory_that_curves_away_is_not_slowed():
    pytest.importorskip("coal")
    world, q = box_beside("ur5", 0.12).snapshot(), READY["ur5"]
    qd = np.array([1.5, 0, 0, 0, 0, 0])
    assert forecaster("ur5").forecast(q, qd, world).speed == 0.0
    times = np.arange(30) * 0.02
    pan = np.where(times < 0.1, 1.5 * times * (1.0 - 5.0 * times), 0.075 - 1.0 * (times - 0.1))
    path = PathPreview(q + pan[:, None] * np.eye(6)[0], 0.02)
    assert forecaster("ur5").forecast(q, qd, world, path).speed == 1.0


def test_a_drift_off_the_trajectory_is_held():
    pytest.importorskip("coal")
    world, q = box_beside("ur5", 0.05).snapshot(), READY["ur5"]
    path = preview(q, q + np.array([0, 0, 0, 0, 0, 0.3]))
    expected = np.array([0, 0, 0, 0, 0, 0.3 / 0.48])
    assert forecaster("ur5").forecast(q, expected, world, path).speed == 1.0
    assert forecaster("ur5").forecast(q, expected + np.array([1.0, 0, 0, 0, 0, 0]), world, path).speed == 0.0


def test_a_carried_object_counts():
    pytest.importorskip("coal")
    world, q = box_beside("ur5", 0.08), READY["ur5"]
    qd = np.array([0.4, 0, 0, 0, 0, 0])
    assert forecaster("ur5").forecast(q, qd, world.snapshot()).speed == 1.0
    width = 2.0 * offset_of("ur5", 0.08) - 0.02  # ends a centimetre from the box
    world.add("plate", Box([width, width, 0.06]))
    world.attach("plate", "tool0", at(0, 0, 0.05))
    held = forecaster("ur5").forecast(q, qd, world.snapshot())
    assert held.speed == 0.0
    assert (held.link, held.other) == ("plate", "box")


def test_a_preview_moves_on_with_time():
    path = PathPreview(np.arange(10.0)[:, None], 0.1, 0.5)
    np.testing.assert_allclose(path.later(0.5).positions[:3, 0], [2.5, 3.5, 4.5])
    assert path.later(5.0) is None and path.later(0.0) is path


def test_settings_that_would_skip_the_margin_are_refused():
    with pytest.raises(InputError, match="step"):
        ForecastSettings(margin=0.001)


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_a_followed_trajectory_keeps_its_distance_between_links(name):
    """By coal: whatever passes at the floor of the margin is 1.7 mm apart, and what does not pass is near."""
    pytest.importorskip("coal")
    _, chain, body = arm(name)
    own, exact, rng = forecaster(name)._arm, ExactChecker(body), np.random.default_rng(5)
    q = rng.uniform(np.maximum(chain.limits.lower, -np.pi), np.minimum(chain.limits.upper, np.pi), (20000, chain.n))
    floor = own._paddings[FLOOR]
    close = q[own._hits(2.0 * floor, q) & ~own._hits(floor, q)][:60]
    assert len(close) > 20
    assert min(exact.contacts(row)[0].distance for row in close) > 0.0017
    stopped = q[own._hits(floor, q) & ~own._hits(0.0, q)][:60]
    assert len(stopped) > 20
    assert np.median([exact.contacts(row)[0].distance for row in stopped]) < 0.003
