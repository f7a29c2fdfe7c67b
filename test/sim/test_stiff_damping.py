"""Damping and friction far above what explicit integration can follow, against the formulas of a single joint."""

from __future__ import annotations

import pytest

from manipapy_core import Robot
from manipapy_core.sim import DriveMode, SimWorld

pytestmark = pytest.mark.usefixtures("simulator")

WHEEL = """<robot name="wheel"><link name="post"/><link name="disc"><inertial><mass value="0.1"/>
  <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="axle" type="continuous"><parent link="post"/><child link="disc"/><axis xyz="0 0 1"/>
  <limit effort="50" velocity="20"/><dynamics damping="10" friction="1"/></joint></robot>"""


def speed_at(effort: float, steps: int = 200) -> float:
    with SimWorld(time_step=1e-3) as world:
        wheel = world.add_robot(Robot.from_urdf(WHEEL))
        for _ in range(steps):
            wheel.command(DriveMode.EFFORT, [effort])
            world.step()
        return float(wheel.state().qd[0])


@pytest.mark.parametrize("effort", [3.0, -6.0, 21.0])
def test_speed_settles_where_damping_and_friction_balance_the_effort(effort: float) -> None:
    friction = 1.0 if effort > 0.0 else -1.0
    assert speed_at(effort) == pytest.approx((effort - friction) / 10.0, rel=1e-3)


def test_effort_below_the_friction_moves_nothing() -> None:
    assert speed_at(0.9) == pytest.approx(0.0, abs=1e-9)
