"""A two-link arm with gaps to fill, and the list of what is wrong with a description."""

from __future__ import annotations

from typing import Any

import pytest

from manipapy_core.errors import ModelError
from manipapy_core.model import Robot

LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
INERTIA = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.25"/>'


def arm(*, hand: str = "", wrist: str = LIMIT, kind: str = "revolute", more: str = "") -> str:
    """A URDF text; the gaps stand in lines 3 (hand), 6 (wrist) and 8 (more).

    Args:
        hand: Inside `<link name="hand">`.
        wrist: Inside `<joint name="wrist">` beside parent and child.
        kind: Type of the wrist.
        more: Further elements of the robot.
    """
    return f"""<robot name="arm">
<link name="base"/>
<link name="hand">{hand}</link>
<joint name="wrist" type="{kind}">
<parent link="base"/><child link="hand"/>
{wrist}
</joint>
{more}
</robot>"""


def inertial(mass: str = '<mass value="2"/>', inertia: str = INERTIA, origin: str = "") -> str:
    """An `<inertial>` element."""
    return f"<inertial>{origin}{mass}{inertia}</inertial>"


def visual(geometry: str, more: str = "") -> str:
    """A `<visual>` element."""
    return f"<visual><geometry>{geometry}</geometry>{more}</visual>"


def problems_of(source: Any, **options: Any) -> tuple[str, ...]:
    """Every problem of a description that must not be accepted, at least not when `strict`."""
    with pytest.raises(ModelError) as caught:
        Robot.from_urdf(source, **{"strict": True, **options})
    for problem in caught.value.problems:
        assert problem in str(caught.value)
    return caught.value.problems


def only_problem_of(source: Any, **options: Any) -> str:
    """The problem of a description that must have exactly one."""
    problems = problems_of(source, **options)
    assert len(problems) == 1, problems
    return problems[0]
