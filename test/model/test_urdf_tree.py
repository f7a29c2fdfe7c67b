"""Links and joints must form one tree, and a mimic must end at a joint that moves on its own."""

from __future__ import annotations

import pytest

from manipapy_core.model import Mimic, Robot
from model.small_arm import LIMIT, arm, only_problem_of, problems_of
from reference.urdf_writing import joint, link, robot


def test_empty_robot_is_refused() -> None:
    problem = only_problem_of('<robot name="nothing"/>')
    assert problem == 'text:1: <robot>: has no links; write at least one <link name="..."/>'


def test_single_link_is_a_robot() -> None:
    assert Robot.from_urdf('<robot name="stone"><link name="stone"/></robot>').root == "stone"


@pytest.mark.parametrize("role", ["parent", "child"])
def test_unknown_link_is_named_with_the_closest_one(role: str) -> None:
    right = {"parent": "base", "child": "hand"}[role]
    problems = problems_of(arm().replace(f'<{role} link="{right}"/>', f'<{role} link="{right}s"/>'))
    assert f"text:4: joint 'wrist': {role} link '{right}s' does not exist" in problems[-1]
    assert f'add <link name="{right}s"/> or correct the name (did you mean {right!r}?)' in problems[-1]


def test_two_roots_are_named_with_lines() -> None:
    problem = only_problem_of(arm(more='<link name="camera"/>'))
    assert "2 links have no parent joint: 'base' (line 2, 2 links), 'camera' (line 8, 1 link)" in problem
    assert "only the tree below 'base' is used, connect the others with joints" in problem


def test_link_with_two_parents_names_both_joints() -> None:
    second = joint("second", "fixed", "base", "hand")
    problem = only_problem_of(arm(more=second))
    assert problem.startswith("text:8: joint 'second': link 'hand' already has a parent through joint 'wrist' (line 4)")
    assert "remove one of them" in problem


def test_cycle_is_written_out() -> None:
    text = robot(
        "ring",
        *(link(name) for name in "abcd"),
        joint("ab", "fixed", "a", "b"),
        joint("bc", "fixed", "b", "c"),
        joint("ca", "fixed", "c", "a"),
        joint("cd", "fixed", "c", "d"),
    )
    problem = only_problem_of(text)
    assert "joint 'ca': closes the cycle 'a' -> 'b' -> 'c' -> 'a'" in problem
    assert "remove one joint of the cycle" in problem


def test_cycle_beside_a_healthy_tree_is_found() -> None:
    ring = robot("r", link("root"), link("a"), link("b"), joint("x", "fixed", "a", "b"), joint("y", "fixed", "b", "a"))
    assert "closes the cycle 'a' -> 'b' -> 'a'" in only_problem_of(ring)


def test_joint_from_a_link_to_itself_is_a_cycle() -> None:
    own = robot("r", link("root"), link("a"), joint("knot", "fixed", "a", "a"))
    assert "joint 'knot': closes the cycle 'a' -> 'a'" in only_problem_of(own)


@pytest.mark.parametrize(
    ("more", "what"),
    [('<link name="hand"/>', "link 'hand'"), (joint("wrist", "fixed", "hand", "base"), "joint 'wrist'")],
)
def test_duplicate_names_are_refused_with_the_first_line(more: str, what: str) -> None:
    problem = only_problem_of(arm(more=more))
    first = 3 if "link" in what else 4
    assert problem == f"text:8: {what}: the name is already used in line {first}; rename one of them"


def test_a_link_and_a_joint_may_share_a_name() -> None:
    assert Robot.from_urdf(arm().replace('"wrist"', '"hand"')).free_joints == ("hand",)


def test_long_chains_do_not_exhaust_the_stack() -> None:
    count = 3000
    names = [f"l{index}" for index in range(count)]
    joints = [joint(f"j{index}", "fixed", names[index], names[index + 1]) for index in range(count - 1)]
    long = Robot.from_urdf(robot("snake", *(link(name) for name in names), *joints))
    assert long.root == "l0"
    assert long.describe().count("\n") == count


def fingers(*mimics: str, kind: str = "revolute") -> str:
    """A hand with one finger per argument, each with the given content in its joint f0, f1, ..."""
    more = "".join(
        f'<link name="l{index}"/><joint name="f{index}" type="{kind}"><parent link="hand"/><child link="l{index}"/>'
        f"{LIMIT}{mimic}</joint>\n"
        for index, mimic in enumerate(mimics)
    )
    return arm(more=more)


def test_mimic_of_a_mimic_follows_the_driver_directly() -> None:
    text = fingers(
        '<mimic joint="f1" multiplier="2" offset="0.5"/>',
        '<mimic joint="f2" multiplier="-3" offset="0.25"/>',
        '<mimic joint="wrist" multiplier="0.5" offset="1"/>',
    )
    joints = Robot.from_urdf(text).joints
    assert joints["f2"].mimic == Mimic("wrist", 0.5, 1.0)
    assert joints["f1"].mimic == Mimic("wrist", -1.5, -3.0 + 0.25)
    assert joints["f0"].mimic == Mimic("wrist", -3.0, 2.0 * (-3.0 + 0.25) + 0.5)


def test_mimic_of_a_missing_joint_names_the_closest() -> None:
    problem = only_problem_of(fingers('<mimic joint="wrst"/>'))
    assert problem.startswith(
        "text:8: joint 'f0': mimics joint 'wrst', which does not exist, and so moves on its own; correct the name"
    )
    assert "did you mean 'wrist'?" in problem


def test_mimic_of_itself() -> None:
    problem = only_problem_of(fingers('<mimic joint="f0"/>'))
    assert "joint 'f0': mimics itself ('f0' -> 'f0'); name a joint that moves on its own" in problem


def test_mimic_cycle_names_its_members_only() -> None:
    problems = problems_of(fingers('<mimic joint="f1"/>', '<mimic joint="f2"/>', '<mimic joint="f1"/>'))
    assert len(problems) == 2
    assert "joint 'f1': mimics itself ('f1' -> 'f2' -> 'f1')" in problems[0]
    assert "joint 'f2': mimics itself ('f2' -> 'f1' -> 'f2')" in problems[1]


def test_mimic_of_a_fixed_joint() -> None:
    text = fingers('<mimic joint="bolt"/>').replace(
        "</robot>", '<link name="plate"/>' + joint("bolt", "fixed", "hand", "plate") + "</robot>"
    )
    problem = only_problem_of(text)
    assert (
        "joint 'f0': mimics joint 'bolt', which is fixed, and so moves on its own; name a joint that moves" in problem
    )


def test_fixed_joint_that_mimics_is_only_a_warning() -> None:
    joints = Robot.from_urdf(fingers('<mimic joint="wrist"/>', kind="fixed"))
    assert joints.joints["f0"].mimic is None
    assert "a fixed joint cannot follow another" in joints.warnings[0]
