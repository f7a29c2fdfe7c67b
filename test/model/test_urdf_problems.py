"""Every number that makes no sense is refused, by line, element and cure; all of them at once."""

from __future__ import annotations

import re

import pytest

from manipapy_core.model import Robot
from model.small_arm import INERTIA, LIMIT, arm, inertial, only_problem_of, problems_of, visual

BAD_LINKS = {
    "negative mass": (inertial('<mass value="-1"/>'), "<mass> of link 'hand': value is -1", "write it in kg"),
    "nan mass": (inertial('<mass value="nan"/>'), "<mass> of link 'hand': value is nan", "finite number"),
    "infinite mass": (inertial('<mass value="inf"/>'), "<mass> of link 'hand': value is inf", "finite number"),
    "overflowing mass": (inertial('<mass value="1e999"/>'), "value is inf", "finite number"),
    "mass in words": (inertial('<mass value="heavy"/>'), "value is 'heavy'", "write one number"),
    "mass with underscore": (inertial('<mass value="1_0"/>'), "value is '1_0'", "write one number"),
    "mass without value": (inertial("<mass/>"), "attribute 'value' is missing", 'write value="..."'),
    "no mass": (inertial(""), "<inertial> of link 'hand': <mass> is missing", "or delete <inertial>"),
    "no inertia": (inertial(inertia=""), "<inertia> is missing", "zeros for a point mass"),
    "negative ixx": (
        inertial(inertia=INERTIA.replace("0.1", "-0.1")),
        "<inertia> of link 'hand': ixx is -0.1",
        "write it about the centre of mass in kg m^2",
    ),
    "nan izz": (inertial(inertia=INERTIA.replace("0.25", "nan")), "izz is nan", "write a finite number"),
    "inertia in words": (inertial(inertia=INERTIA.replace("0.2", "light", 1)), "iyy is 'light'", "one number"),
    "no ixy": (inertial(inertia=INERTIA.replace('ixy="0"', "")), "'ixy' is missing, taken as 0", 'write ixy="0"'),
    "impossible products": (
        inertial(inertia=INERTIA.replace('ixy="0"', 'ixy="9"')),
        "principal moments are -8.85, 0.25, 9.15 and none may be negative",
        "check the signs and sizes of ixy",
    ),
    "two masses": (inertial('<mass value="1"/><mass value="2"/>'), "<mass> is given 2 times", "keep one"),
    "two inertials": (inertial() * 2, "<inertial> is given 2 times, the first one counts", "keep one of them"),
    "short origin": (inertial(origin='<origin xyz="1 2"/>'), "xyz is '1 2', which has 2 parts", "write 3 numbers"),
    "long rpy": (inertial(origin='<origin rpy="1 2 3 4"/>'), "rpy is '1 2 3 4'", "write 3 numbers"),
    "nan origin": (inertial(origin='<origin xyz="0 nan 0"/>'), "xyz is '0 nan 0'", "write 3 finite numbers"),
    "words in origin": (inertial(origin='<origin xyz="a b c"/>'), "<origin> of link 'hand'", "3 finite numbers"),
    "no geometry": ("<visual/>", "<visual> of link 'hand': <geometry> is missing", "or delete the <visual>"),
    "empty geometry": (visual(""), "<geometry> of link 'hand': holds 0 shapes", "write exactly one of <box>"),
    "two geometries": (visual('<sphere radius="1"/><sphere radius="1"/>'), "holds 2 shapes", "exactly one"),
    "unknown geometry": (visual("<cone/>"), "<cone> of link 'hand': is not a known", "use <box>, <cylinder>"),
    "flat size": (visual('<box size="1 2"/>'), "<box> of link 'hand': size is '1 2'", "write 3 numbers"),
    "no size": (visual("<box/>"), "attribute 'size' is missing", 'write size="'),
    "negative size": (visual('<box size="1 -2 1"/>'), "size is -2", "write a positive length in m"),
    "negative radius": (visual('<sphere radius="-1"/>'), "radius is -1", "write a positive length in m"),
    "negative length": (visual('<cylinder radius="1" length="-2"/>'), "length is -2", "positive length"),
    "no radius": (visual('<cylinder length="2"/>'), "'radius' is missing", 'write radius="..."'),
    "nan radius": (visual('<sphere radius="nan"/>'), "radius is nan", "write a finite number"),
    "mesh without file": (visual("<mesh/>"), "<mesh> of link 'hand': attribute 'filename' is missing", "write the"),
    "short colour": (
        visual('<sphere radius="1"/>', '<material name="m"><color rgba="1 0 0"/></material>'),
        "<color> of material 'm': rgba is '1 0 0'",
        "write 4 numbers",
    ),
}


@pytest.mark.parametrize("case", BAD_LINKS)
def test_bad_link_is_refused_with_place_and_cure(case: str) -> None:
    hand, what, cure = BAD_LINKS[case]
    problem = only_problem_of(arm(hand=hand))
    assert problem.startswith("text:3: ")
    assert what in problem
    assert cure in problem.partition(";")[2]


def limit(**changes: str) -> str:
    values = {"lower": "-1", "upper": "1", "velocity": "1", "effort": "1", **changes}
    return "<limit " + " ".join(f'{key}="{value}"' for key, value in values.items()) + "/>"


BAD_JOINTS = {
    "zero axis": (f'<axis xyz="0 0 0"/>{LIMIT}', "<axis> of joint 'wrist': xyz has length 0", "such as 0 0 1"),
    "nan axis": (f'<axis xyz="0 nan 1"/>{LIMIT}', "<axis> of joint 'wrist': xyz is '0 nan 1'", "3 finite numbers"),
    "flat axis": (f'<axis xyz="0 1"/>{LIMIT}', "xyz is '0 1', which has 2 parts", "write 3 numbers"),
    "empty axis": (f"<axis/>{LIMIT}", "<axis> of joint 'wrist': attribute 'xyz' is missing", 'write xyz="'),
    "two axes": (f'<axis xyz="1 0 0"/><axis xyz="0 0 1"/>{LIMIT}', "<axis> is given 2 times", "keep one"),
    "no limit": ("", "joint 'wrist': <limit> is missing", 'write <limit lower="..." upper="..."'),
    "inverted": (limit(lower="2"), "<limit> of joint 'wrist': lower is 2 and upper is 1", "swap them"),
    "nan lower": (limit(lower="nan"), "lower is nan", "write a number"),
    "nan upper": (limit(upper="nan"), "upper is nan", "write a number"),
    "infinite lower": (limit(lower="inf", upper="inf"), "leaves no position", "write finite numbers"),
    "limit in words": (limit(upper="far"), "upper is 'far'", "write one number"),
    "negative velocity": (limit(velocity="-1"), "velocity is -1", "write its magnitude"),
    "negative effort": (limit(effort="-1"), "effort is -1", "write its magnitude"),
    "nan velocity": (limit(velocity="nan"), "velocity is nan", "write a number"),
    "negative damping": (f'{LIMIT}<dynamics damping="-1"/>', "damping is -1", "write 0 or more"),
    "nan friction": (f'{LIMIT}<dynamics friction="nan"/>', "friction is nan", "finite number"),
    "mimic without joint": (f"{LIMIT}<mimic/>", "<mimic> of joint 'wrist': attribute 'joint' is missing", "write"),
    "nan mimic": (f'{LIMIT}<mimic joint="wrist" multiplier="nan"/>', "multiplier is nan", "finite number"),
    "bad origin": (f'{LIMIT}<origin rpy="0 0"/>', "<origin> of joint 'wrist': rpy is '0 0'", "write 3 numbers"),
}


@pytest.mark.parametrize("case", BAD_JOINTS)
def test_bad_joint_is_refused_with_place_and_cure(case: str) -> None:
    wrist, what, cure = BAD_JOINTS[case]
    problem = only_problem_of(arm(wrist=wrist))
    assert re.match(r"text:[46]: ", problem)
    assert what in problem
    assert cure in problem.partition(";")[2]


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_limit_is_required(kind: str) -> None:
    problem = only_problem_of(arm(kind=kind, wrist=""))
    assert problem.startswith("text:4: joint 'wrist': <limit> is missing; write <limit ")
    assert ("continuous" in problem) == (kind == "revolute")


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_planar_and_floating_joints_are_refused_clearly(kind: str) -> None:
    problem = only_problem_of(arm(kind=kind))
    assert problem.startswith(f"text:4: joint 'wrist': type {kind} is not supported, the joint is held still; ")


def test_unknown_joint_type_gets_a_hint() -> None:
    problem = only_problem_of(arm(kind="revolut"))
    assert problem == "text:4: joint 'wrist': type 'revolut' is not known; did you mean 'revolute'?"


def test_joint_without_type_lists_the_types() -> None:
    problem = only_problem_of(arm().replace(' type="revolute"', ""))
    assert "attribute 'type' is missing; write one of: revolute, continuous, prismatic, fixed" in problem


def test_names_are_required() -> None:
    text = arm(more="<link/>").replace('<robot name="arm">', "<robot>")
    robot, link = problems_of(text)
    assert robot == "text:1: <robot>: attribute 'name' is missing, taken as 'robot'; write <robot name=\"my_robot\">"
    assert link == "text:8: <link>: attribute 'name' is missing; write <link name=\"...\">"


def test_every_problem_is_listed_at_once_in_file_order() -> None:
    text = arm(
        hand=inertial('<mass value="-1"/>', INERTIA.replace("0.1", "x")) + visual('<box size="1"/>'),
        wrist='<axis xyz="0 0 0"/><limit lower="1" upper="0" velocity="-1" effort="nan"/>',
        more='<link name="hand"/><joint name="loose" type="fixed"><parent link="nowhere"/></joint>',
    )
    found = problems_of(text)
    expected = [
        "text:3: <mass> of link 'hand': value is -1",
        "text:3: <inertia> of link 'hand': ixx is 'x'",
        "text:3: <box> of link 'hand': size is '1'",
        "text:6: <axis> of joint 'wrist': xyz has length 0",
        "text:6: <limit> of joint 'wrist': effort is nan",
        "text:6: <limit> of joint 'wrist': velocity is -1",
        "text:6: <limit> of joint 'wrist': lower is 1 and upper is 0",
        "text:8: link 'hand': the name is already used in line 3",
        "text:8: joint 'loose': <child> is missing",
    ]
    assert len(found) == len(expected)
    for problem, start in zip(sorted(found), sorted(expected), strict=True):
        assert problem.startswith(start)
    lines = [int(problem.split(":")[1]) for problem in found]
    assert lines == sorted(lines)


def test_rounding_does_not_make_a_thin_plate_impossible() -> None:
    thin = '<inertia ixx="0.1" ixy="0.1" ixz="0" iyy="0.1" iyz="0" izz="0.2"/>'
    almost = thin.replace('ixy="0.1"', 'ixy="0.10000001"')
    assert Robot.from_urdf(arm(hand=inertial(inertia=almost))).warnings == ()
