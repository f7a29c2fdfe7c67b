"""Semantic descriptions: written and read again, those of other people, and bad ones refused with line and cure."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from manipapy_core import Robot
from manipapy_core.errors import ModelError
from manipapy_core.geometry import RobotBody
from manipapy_core.model import (
    SemanticDescription,
    UnknownGroup,
    VirtualJoint,
    arm_chain,
    disabled_pairs,
    find_arms,
    read_srdf,
    srdf_text,
)

FILES = importlib.metadata.files("example-robot-data") or ()
ARM_JOINTS = tuple(f"panda_joint{number}" for number in range(1, 8))


def installed(ending: str) -> Path:
    return next(Path(str(file.locate())) for file in FILES if str(file).endswith(ending))


@pytest.fixture(scope="module")
def panda() -> Robot:
    return Robot.from_urdf("panda")


@pytest.fixture(scope="module")
def station() -> Robot:
    return Robot.from_urdf("dual_ur5e")


def of(body: str) -> str:
    return f'<robot name="panda">\n{body}\n</robot>'


def problem_of(body: str, robot: Robot, strict: bool = True) -> str:
    with pytest.raises(ModelError) as caught:
        read_srdf(of(body), robot, strict=strict)
    return caught.value.problems[0]


def test_written_description_is_read_again_unchanged(panda: Robot) -> None:
    arms = find_arms(panda)
    body = RobotBody.build(panda, arm_chain(panda))
    states = {arms[0].name: {"ready": dict(zip(ARM_JOINTS, [0.0, -0.785, 0.1, -2.356, 1e-9, 1.571, 1 / 3]))}}
    written = SemanticDescription.of_arms("panda", arms, states, disabled_pairs(body.ignored))
    extended = SemanticDescription(
        written.robot, written.groups, written.states, written.disabled, written.end_effectors,
        (VirtualJoint("stand", "fixed", "world", "panda_link0"),), ("panda_finger_joint2",),
    )  # fmt: skip
    assert read_srdf(srdf_text(extended), panda, strict=True) == extended
    assert len(extended.disabled) > 5 and len(extended.end_effectors) == 1


def test_two_arms_get_a_group_together(station: Robot) -> None:
    text = srdf_text(SemanticDescription.of_arms("dual_ur5e", find_arms(station)))
    semantic = read_srdf(text, station, strict=True)
    single = [semantic.joints_of(arm.name, station) for arm in find_arms(station)]
    both = semantic.joints_of("arms", station)
    assert [len(joints) for joints in single] == [6, 6] and set(both) == set(single[0]) | set(single[1])
    assert set(semantic.tips_of("arms")) == {"left_tool0", "right_tool0"}


def test_groups_by_chain_joints_links_and_subgroups(panda: Robot) -> None:
    semantic = read_srdf(
        of("""<group name="chain"><chain base_link="panda_link2" tip_link="panda_link5"/></group>
              <group name="upwards"><chain base_link="panda_link5" tip_link="panda_link2"/></group>
              <group name="links"><link name="panda_link4"/><link name="panda_link3"/></group>
              <group name="joints"><joint name="panda_joint6"/><joint name="panda_finger_joint2"/></group>
              <group name="all"><group name="joints"/><group name="chain"/></group>
              <passive_joint name="panda_joint4"/>"""),
        panda,
        strict=True,
    )
    expected = {
        "chain": ("panda_joint3", "panda_joint5"),
        "upwards": ("panda_joint3", "panda_joint5"),
        "links": ("panda_joint3",),
        "joints": ("panda_joint6",),  # the second finger follows the first
        "all": ("panda_joint3", "panda_joint5", "panda_joint6"),
    }
    assert {group.name: semantic.joints_of(group.name, panda) for group in semantic.groups} == expected
    assert semantic.links_of("chain", panda) == ("panda_link2", "panda_link3", "panda_link4", "panda_link5")
    with pytest.raises(UnknownGroup, match="no group 'arm'; this robot has: chain, upwards"):
        semantic.joints_of("arm", panda)


PUBLISHED = {
    "panda": ("panda_description/srdf/panda.srdf", "panda_description/urdf/panda.urdf", False),
    "pr2": ("pr2_description/srdf/pr2.srdf", "pr2_description/urdf/pr2.urdf", False),
    "talos": ("talos_data/srdf/talos.srdf", "talos_data/robots/talos_reduced.urdf", True),
}
"""Files of example-robot-data, and whether the states are those of a floating base."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_states_and_disabled_pairs_of_published_files_are_pinocchios(name: str) -> None:
    file, urdf, floating = installed(PUBLISHED[name][0]), installed(PUBLISHED[name][1]), PUBLISHED[name][2]
    robot = Robot.from_urdf(urdf, check_meshes=False)
    semantic = read_srdf(file, robot)
    base = (pin.JointModelFreeFlyer(),) if floating else ()
    model = pin.buildModelFromUrdf(str(urdf), *base)
    pin.loadReferenceConfigurations(model, str(file), False)
    compared = 0
    for states in semantic.states.values():
        for state, positions in states.items():
            q = model.referenceConfigurations[state]
            for joint, value in positions.items():
                index = model.getJointId(joint)
                if index < model.njoints and model.joints[index].nq == 1:
                    np.testing.assert_allclose(q[model.joints[index].idx_q], value)
                    compared += 1
    assert compared >= 7
    links = [frame.name for frame in model.frames]
    assert len(semantic.disabled) > 10
    assert all(pair.first in links and pair.second in links for pair in semantic.disabled)


def test_unknown_names_are_warnings_and_the_group_is_left_out(panda: Robot) -> None:
    body = """<group name="arm"><chain base_link="panda_link0" tip_link="panda_link8"/></group>
      <group name="hand"><joint name="panda_finger_joint3"/><link name="panda_hand"/></group>
      <group name="both"><group name="arm"/><group name="hand"/></group>
      <group_state name="open" group="hand"><joint name="panda_finger_joint1" value="0.04"/></group_state>
      <end_effector name="hand" group="hand" parent_link="panda_link8" parent_group="arm"/>
      <disable_collisions link1="panda_link0" link2="panda_link9" reason="Never"/>"""
    semantic = read_srdf(of(body), panda)
    assert [group.name for group in semantic.groups] == ["arm"]
    assert not semantic.states and not semantic.end_effectors and not semantic.disabled
    texts = "\n".join(semantic.warnings)
    assert "text:3: <joint> of group 'hand': no joint 'panda_finger_joint3'; did you mean" in texts
    assert "group 'both': no group 'hand', so this one is left out" in texts
    with pytest.raises(ModelError) as caught:
        read_srdf(of(body), panda, strict=True)
    assert len(caught.value.problems) == len(semantic.warnings)


CHAIN = '<group name="a"><chain base_link="panda_link0" tip_link="panda_link8"/></group>'
BAD = {
    "no name": ("<group/>", "attribute 'name' is missing", 'write <group name="...">'),
    "twice": (CHAIN * 2, "group 'a': is given twice, first in line 2", "keep one"),
    "itself": ('<group name="a"><group name="a"/></group>', "group 'a': contains itself", "delete one"),
    "bad value": (
        f'{CHAIN}<group_state name="s" group="a"><joint name="panda_joint1" value="1 2"/></group_state>',
        "value of 'panda_joint1' is '1 2'", "write one finite number",
    ),
    "nan": (
        f'{CHAIN}<group_state name="s" group="a"><joint name="panda_joint1" value="nan"/></group_state>',
        "value of 'panda_joint1' is 'nan'", "write one finite number",
    ),
    "virtual type": (
        '<virtual_joint name="v" type="ball" parent_frame="world" child_link="panda_link0"/>',
        "virtual_joint 'v': type is 'ball'", "fixed, floating, planar",
    ),
    "a urdf": ('<link name="a"/>', "<link> belongs to a URDF", "give the SRDF file"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_with_line_and_cure(case: str, panda: Robot) -> None:
    body, what, cure = BAD[case]
    problem = problem_of(body, panda, strict=False)
    assert problem.startswith("text:2: ") and what in problem and cure in problem.partition(";")[2]


def test_untrusted_text_is_refused(panda: Robot) -> None:
    bomb = '<!DOCTYPE r [<!ENTITY a "aaaa">]><robot name="&a;"/>'
    with pytest.raises(ModelError, match="document type declaration is not accepted"):
        read_srdf(bomb, panda)
    with pytest.raises(ModelError, match="malformed XML"):
        read_srdf("<robot name='panda'><group></robot>", panda)
    with pytest.raises(ModelError, match="the outermost element is <sdf>"):
        read_srdf("<sdf/>", panda)
    with pytest.raises(FileNotFoundError):
        read_srdf("missing.srdf", panda)
