"""The XML door: malformed documents are refused with their line, dangerous ones are not even expanded."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manipapy_core.errors import ModelError
from manipapy_core.model import Robot
from manipapy_core.model.urdf.xml import parse_xml
from model.small_arm import LIMIT, arm, inertial, only_problem_of, visual


def test_elements_know_their_lines() -> None:
    root = parse_xml('\n\n<robot name="r">\n<link\n name="a"/>\n<!-- x -->\n<joint/></robot>', "r.urdf", "r.urdf")
    assert [(element.tag, element.line) for element in root.walk()] == [("robot", 3), ("link", 4), ("joint", 7)]


def test_blank_lines_before_the_declaration_are_accepted_and_counted() -> None:
    problem = only_problem_of('\n\n\t<?xml version="1.0"?>\n<robot name="r"/>')
    assert problem.startswith("text:4: <robot>: has no links")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('<robot name="r">\n<link name="a">\n</robot>', 3),
        ('<robot name="r">\n<link name="a/>\n</robot>', 3),
        ('<robot name="r">\n<link name="a" name="b"/>\n</robot>', 2),
        ('<robot name="r">\n<link name="&unknown;"/>\n</robot>', 2),
        ('<robot name="r"/>\n<robot name="s"/>', 2),
        ("<", 1),
    ],
)
def test_malformed_xml_is_refused_with_its_line(text: str, line: int) -> None:
    problem = only_problem_of(text)
    assert problem.startswith(f"text:{line}: malformed XML, ")
    assert "check that every tag and quote is closed" in problem


@pytest.mark.parametrize("root", ["model", "collada", "Robot"])
def test_other_documents_are_refused(root: str) -> None:
    problem = only_problem_of(f'<{root} name="x"/>')
    assert problem == f'text:1: <{root}>: is not a URDF; the outermost element must be <robot name="...">'


def test_entity_bomb_is_refused_at_once() -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<?xml version="1.0"?>\n<!DOCTYPE robot [<!ENTITY e0 "boom">{levels}]>\n<robot name="&e11;"/>'
    start = time.perf_counter()
    problem = only_problem_of(bomb)
    assert time.perf_counter() - start < 1.0
    assert problem.startswith("text:2: a document type declaration is not accepted")
    assert "delete the <!DOCTYPE ...> part" in problem


def test_external_entity_is_never_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("top secret")
    text = f'<!DOCTYPE robot [<!ENTITY x SYSTEM "{secret.as_uri()}">]><robot name="r"><link name="&x;"/></robot>'
    problem = only_problem_of(text)
    assert "document type declaration" in problem
    assert "top secret" not in problem


def test_bomb_in_a_xacro_file_is_refused_before_xacro_sees_it(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xacro"
    path.write_text('<!DOCTYPE robot [<!ENTITY a "x">]>\n<robot name="&a;"><link name="l"/></robot>')
    assert only_problem_of(path).startswith("bomb.xacro:1: a document type declaration is not accepted")


@pytest.mark.parametrize("content", ["", "  \n\n", "\ufeff"])
def test_empty_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "empty.urdf"
    path.write_text(content, encoding="utf-8")
    problem = only_problem_of(path)
    assert problem == "empty.urdf: the document is empty; expected <robot name=...>...</robot>"


def test_file_in_another_encoding_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.urdf"
    path.write_bytes(b'<robot name="r">\n<link name="a"/>\n<!-- gr\xfc\xdfe -->\n</robot>')
    assert only_problem_of(path) == "latin.urdf:3: byte 0xfc is not UTF-8; save the file as UTF-8 text"


def test_byte_order_mark_and_other_scripts_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(arm().replace("hand", "手"), encoding="utf-8-sig")
    assert "手" in Robot.from_urdf(path).links


def test_half_a_surrogate_pair_is_refused() -> None:
    assert only_problem_of('<robot name="r">\n<link name="\ud800"/></robot>').startswith("text:2: the text holds half")


def test_messages_of_a_file_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(arm(wrist=""))
    with pytest.raises(ModelError) as caught:
        Robot.from_urdf(path)
    assert str(caught.value).startswith(f"{path}: 1 problem\n  - arm.urdf:4: joint 'wrist': <limit> is missing")
    assert caught.value.source == str(path)


WHOLE = arm(
    hand=inertial(origin='<origin xyz="0 0 1" rpy="0 1 0"/>') + visual('<box size="1 2 3"/>'),
    wrist=f'<axis xyz="0 0 1"/>{LIMIT}<dynamics damping="1"/>',
    more=f'<link name="f"/><joint name="j" type="prismatic"><parent link="hand"/><child link="f"/>{LIMIT}'
    '<mimic joint="wrist" multiplier="2"/></joint>',
)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, len(WHOLE)), st.integers(0, 12), st.sampled_from(["", "-", "0", "nan", "x", "<", '"', " ", "é"]))
def test_any_damage_gives_a_robot_or_a_list_of_problems(start: int, length: int, instead: str) -> None:
    damaged = WHOLE[:start] + instead + WHOLE[start + length :]
    try:
        robot = Robot.from_urdf(damaged)
    except ModelError:
        return
    assert robot.root in robot.links
    assert all(abs(np.linalg.norm(joint.axis) - 1.0) < 1e-12 for joint in robot.joints.values())


def test_deep_nesting_has_a_bound_and_does_not_exhaust_the_stack() -> None:
    def nested(depth: int) -> str:
        return arm(more="<gazebo>" * depth + "</gazebo>" * depth)

    assert Robot.from_urdf(nested(900)).root == "base"
    for depth in (1000, 1_000_000):
        assert only_problem_of(nested(depth)).startswith("text:8: elements are nested more than 1000 deep; ")


def test_huge_attributes_and_documents_are_refused_with_a_sentence() -> None:
    problem = only_problem_of(arm(more=f'<gazebo reference="{"x" * 50_000_000}"/>'))
    assert problem.startswith("text:8: attribute 'reference' of <gazebo> has 50000000 characters, more than 1000000; ")


def test_more_links_than_any_robot_has_are_refused() -> None:
    text = '<robot name="r">' + "".join(f'<link name="l{index}"/>' for index in range(50_000)) + "</robot>"
    assert "has 50000 links, more than 10000; " in only_problem_of(text)
