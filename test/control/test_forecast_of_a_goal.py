"""A goal depends on collision forecasts of its own path only."""

from __future__ import annotations

import numpy as np
import pytest

from control.arms import AWAY, HOME, UR5, Rig, move
from manipapy_core.control import Check, CollisionAhead, ForecastPolicy


def forecast(rig: Rig, ahead: CollisionAhead, speed: float, trajectory: int) -> None:
    """A forecast of this moment for a trajectory."""
    ahead.update(speed, rig.controller.status().time, trajectory=trajectory)


@pytest.mark.parametrize("policy", [ForecastPolicy.USE, ForecastPolicy.REQUIRE])
def test_a_goal_waits_for_its_own_forecast_and_is_not_aborted_by_that_of_an_earlier_one(policy):
    rig = Rig.of("ur5").run(0.05)
    ahead = CollisionAhead(policy, stale_after=0.2)
    rig.controller.watch_for_collisions(ahead)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 1.0))
    for _ in range(100):
        forecast(rig, ahead, 1.0, 1)
        rig.run(0.005)
    forecast(rig, ahead, 0.0, 1)
    rig.run(0.5)
    assert goal.outcome is not None and not goal.outcome.succeeded
    # The next goal is sent while the newest forecast is still that of the aborted one.
    forecast(rig, ahead, 0.0, 1)
    again = rig.controller.submit(move(UR5, AWAY["ur5"], 1.0))
    mark = rig.mark()
    for trajectory in (1, 0, 1):
        rig.run(0.03)
        forecast(rig, ahead, 0.0, trajectory)
    assert again.outcome is None
    assert rig.still_within(mark, 1e-3), "the arm moves without a forecast for its trajectory"
    for _ in range(300):
        forecast(rig, ahead, 1.0, 2)
        rig.run(0.005)
    assert again.outcome is not None and again.outcome.succeeded, again.outcome


@pytest.mark.parametrize("policy", [ForecastPolicy.USE, ForecastPolicy.REQUIRE])
def test_the_wait_for_a_forecast_is_bounded(policy):
    rig = Rig.of("ur5").run(0.05)
    ahead = CollisionAhead(policy, stale_after=0.1)
    rig.controller.watch_for_collisions(ahead)
    goal, mark = rig.controller.submit(move(UR5, AWAY["ur5"], 1.0)), rig.mark()
    for _ in range(60):
        # Of an earlier run of the controller, or of another one.
        forecast(rig, ahead, 1.0, 7)
        rig.run(0.005)
    assert "no path" in ahead.warning(rig.controller.status().time)
    if policy is ForecastPolicy.REQUIRE:
        assert goal.outcome is not None and "for this trajectory" in goal.outcome.text
    else:
        assert goal.outcome is None and not rig.still_within(mark, 1e-3), "it waits for ever"


def test_a_goal_that_takes_over_a_moving_arm_does_not_wait():
    rig = Rig.of("ur5").run(0.05)
    ahead = CollisionAhead(stale_after=0.5)
    rig.controller.watch_for_collisions(ahead)
    rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    for _ in range(100):
        forecast(rig, ahead, 1.0, 1)
        rig.run(0.01)
    before = rig.controller.status().rate
    rig.controller.submit(move(UR5, HOME["ur5"], 3.0))
    rig.run(0.05)
    assert rig.controller.status().rate == before == 1.0
    assert np.abs(rig.controller.status().qd_ref).max() > 0.05
    # Until there is a forecast for the new one, that of the former still counts.
    forecast(rig, ahead, 0.0, 1)
    rig.run(0.05)
    assert rig.controller.status().held.check is Check.COLLISION
