"""Acceleration and jerk come from a YAML file, which may tighten the other limits but never loosen them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from manipapy_core.errors import ModelError
from manipapy_core.model import MotionLimits, Robot
from model.small_arm import LIMIT, arm, only_problem_of, problems_of

MORE = f"""<link name="finger"/><joint name="slide" type="prismatic"><parent link="hand"/>
    <child link="finger"/>{LIMIT}</joint>
    <link name="plate"/><joint name="bolt" type="fixed"><parent link="hand"/><child link="plate"/></joint>"""
TEXT = arm(more=MORE)


def write(folder: Path, body: str) -> Path:
    path = folder / "joint_limits.yaml"
    path.write_text(body)
    return path


def wrist(folder: Path, **entries: object) -> Path:
    lines = "".join(f"    {key}: {value}\n" for key, value in entries.items())
    return write(folder, f"joint_limits:\n  wrist:\n{lines}")


def test_without_a_file_nothing_is_limited() -> None:
    assert dict(Robot.from_urdf(TEXT).motion_limits) == {"wrist": MotionLimits(), "slide": MotionLimits()}
    assert MotionLimits() == MotionLimits(math.inf, math.inf)


def test_acceleration_and_jerk_are_read_per_joint(tmp_path: Path) -> None:
    path = wrist(tmp_path, has_acceleration_limits="true", max_acceleration=5, has_jerk_limits="true", max_jerk="1e3")
    limits = Robot.from_urdf(TEXT, limits=path).motion_limits
    assert limits["wrist"] == MotionLimits(acceleration=5.0, jerk=1000.0)
    assert limits["slide"] == MotionLimits()


def test_switches_turn_values_off_and_may_be_left_out(tmp_path: Path) -> None:
    path = wrist(tmp_path, has_acceleration_limits="false", max_acceleration=5, max_jerk=7.0)
    assert Robot.from_urdf(TEXT, limits=path).motion_limits["wrist"] == MotionLimits(jerk=7.0)


def test_other_limits_are_tightened(tmp_path: Path) -> None:
    path = wrist(tmp_path, max_velocity=1.5, max_effort=2, min_position=-0.5, max_position=0.5)
    joint = Robot.from_urdf(TEXT, limits=path).joints["wrist"]
    assert (joint.velocity, joint.effort, joint.lower, joint.upper) == (1.5, 2.0, -0.5, 0.5)


def test_keys_of_other_planners_and_scaling_factors_are_accepted(tmp_path: Path) -> None:
    body = """default_velocity_scaling_factor: 0.1
joint_limits:
  wrist: {has_deceleration_limits: true, max_deceleration: -5.0, angle_wraparound: false, max_jerk: 9}
"""
    assert Robot.from_urdf(TEXT, limits=write(tmp_path, body)).motion_limits["wrist"].jerk == 9.0


BAD_VALUES = {
    "loosened velocity": ({"max_velocity": 3.5}, "max_velocity is 3.5, above the 3 of the robot", "only tighten"),
    "loosened effort": ({"max_effort": 9}, "max_effort is 9, above the 4 of the robot", "only tighten"),
    "loosened upper": ({"max_position": 3}, "max_position is 3, above the 2 of the robot", "only tighten"),
    "loosened lower": ({"min_position": -2}, "min_position is -2, below the -1 of the robot", "only tighten"),
    "empty range": ({"min_position": 1, "max_position": 0.5}, "1 to 0.5 are no range", "min_position below"),
    "nan acceleration": ({"max_acceleration": ".nan"}, "max_acceleration is nan", "finite number"),
    "infinite jerk": ({"max_jerk": ".inf"}, "max_jerk is inf", "has_jerk_limits: false for no limit"),
    "negative jerk": ({"max_jerk": -1}, "max_jerk is -1", "positive number"),
    "zero acceleration": ({"max_acceleration": 0}, "max_acceleration is 0", "positive number"),
    "words": ({"max_acceleration": "fast"}, "max_acceleration is 'fast'", "finite number"),
    "truth for a number": ({"max_acceleration": "true"}, "max_acceleration is True", "finite number"),
    "number for a truth": ({"has_jerk_limits": 1, "max_jerk": 1}, "has_jerk_limits is 1", "true or false"),
    "switch without value": ({"has_jerk_limits": "true"}, "has_jerk_limits is true but", "write max_jerk"),
    "misspelt key": ({"max_acelleration": 1}, "key 'max_acelleration' is not known", "mean 'max_acceleration'"),
}


@pytest.mark.parametrize("case", BAD_VALUES)
def test_bad_value_is_refused_with_joint_file_and_cure(tmp_path: Path, case: str) -> None:
    entries, what, cure = BAD_VALUES[case]
    problem = only_problem_of(TEXT, limits=wrist(tmp_path, **entries))
    assert problem.startswith("joint_limits.yaml: joint 'wrist'")
    assert what in problem
    assert cure in problem.partition(";")[2]


def test_unknown_and_fixed_joints_are_refused_together(tmp_path: Path) -> None:
    path = write(tmp_path, "joint_limits: {wrst: {max_jerk: 1}, bolt: {max_jerk: 1}, slide: 5, 7: {}}")
    unknown, fixed, scalar, number = problems_of(TEXT, limits=path)
    assert unknown == ("joint_limits.yaml: joint 'wrst' is not in the robot; correct the name (did you mean 'wrist'?)")
    assert fixed == "joint_limits.yaml: joint 'bolt' is fixed and has no limits; remove its entry"
    assert "joint 'slide' holds 5; write keys such as max_acceleration" in scalar
    assert "joint 7 is not in the robot" in number


@pytest.mark.parametrize("body", ["", "wrist: {max_jerk: 1}", "- a\n- b", "joint_limits: 3", "just words"])
def test_other_layouts_are_refused(tmp_path: Path, body: str) -> None:
    assert "no joints under the key joint_limits; write" in only_problem_of(TEXT, limits=write(tmp_path, body))


def test_malformed_yaml_is_refused_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "joint_limits:\n  wrist: {max_jerk: 1\n  other: ]\n")
    assert only_problem_of(TEXT, limits=path).startswith("joint_limits.yaml:3: malformed YAML")


def test_yaml_cannot_run_code(tmp_path: Path) -> None:
    path = write(tmp_path, "joint_limits: !!python/object/apply:os.getcwd []\n")
    assert "malformed YAML" in only_problem_of(TEXT, limits=path)


def test_missing_limits_file_is_also_a_file_not_found_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such limits file") as caught:
        Robot.from_urdf(TEXT, limits=tmp_path / "nothing.yaml")
    assert isinstance(caught.value, ModelError)
    assert "cannot be read: Is a directory" in only_problem_of(TEXT, limits=tmp_path)
