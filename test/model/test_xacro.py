"""Xacro expands as the package xacro does, finds packages without ROS, and can neither run code nor read elsewhere."""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import xacro

from manipapy_core.errors import ModelError
from manipapy_core.model import Robot
from manipapy_core.model.library import locate
from manipapy_core.model.xacro.expressions import Budget, evaluate
from manipapy_core.model.xacro.values import ExpressionError, global_names
from model.small_arm import arm, only_problem_of

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'


def write(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEAD}{body}</robot>")
    return path


def evaluated(path: Path, expression: str) -> str:
    """The text that `${expression}` becomes."""
    text = locate(write(path, f'<link name="${{{expression}}}"/>')).text
    return ElementTree.fromstring(text)[0].attrib["name"]


DOCUMENTS = {
    "properties": """<xacro:property name="a" value="2"/><xacro:property name="b" value="${a * pi}"/>
        <xacro:property name="a" value="3"/><xacro:property name="c" default="5"/><xacro:property name="c" default="6"/>
        <link name="x${b}_${a}_${c}"/><link name="$${a} $$(arg x)"/>""",
    "types": """<xacro:property name="v" value="0 1 2"/><link name="${v.split()[1]}" x="${float(v.split()[2]) / 4}"/>
        <xacro:property name="flag" value="true"/><link name="${not flag}"/>""",
    "macro": """<xacro:macro name="m" params="p q:=1 r:='0 0' s=${2+1} *block **inside">
        <xacro:property name="local" value="${p}!"/><link name="${local}_${q}_${r}_${s}"/>
        <xacro:insert_block name="block"/><xacro:insert_block name="inside"/></xacro:macro>
        <xacro:m p="a"><origin xyz="${1+1} 0 0"/><group><one/><two/></group></xacro:m>
        <xacro:m p="b" q="7" r="1"><x/><y><z/></y></xacro:m>""",
    "forwarding": """<xacro:property name="side" value="left"/><xacro:macro name="m" params="side:=^ other:=^|none">
        <link name="${side}_${other}"/></xacro:macro><xacro:m/><xacro:m side="right" other="1"/>""",
    "scopes": """<xacro:macro name="m" params="n"><xacro:property name="up" value="${n * 2}" scope="parent"/>
        <xacro:property name="top" value="${n}" scope="global"/></xacro:macro><xacro:m n="4"/>
        <link name="${up}_${top}"/>""",
    "conditions": """<xacro:arg name="on" default="true"/><xacro:if value="$(arg on)"><link name="a"/></xacro:if>
        <xacro:unless value="$(arg on)"><link name="b"/></xacro:unless><xacro:if value="${1 > 2 or 'x' in ['x']}">
        <link name="c"/></xacro:if><xacro:if value="0"><link name="d"/></xacro:if>""",
    "recursion": """<xacro:macro name="loop" params="n"><xacro:if value="${n}"><link name="l${n}"/>
        <xacro:loop n="${n - 1}"/></xacro:if></xacro:macro><xacro:loop n="5"/>""",
    "dynamic": """<xacro:macro name="m" params="x"><link name="${x}"/></xacro:macro><xacro:call macro="${'m'}" x="1"/>
        <xacro:element xacro:name="${'li' + 'nk'}" name="k">
        <xacro:attribute name="more" value="2"/></xacro:element>""",
    "block property": """<xacro:property name="b"><mass value="${2 * 3}"/><x/></xacro:property><link name="l">
        <xacro:insert_block name="b"/></link>""",
    "functions": """<link name="${math.sin(radians(30))}_${len([1, 2])}_${max(3, 4)}_${round(2.567, 2)}"/>
        <link name="${2 ** 5}_${7 // 2}"/>
        <link name="${[x * 2 for x in range(3)]}_${dict(a=1)['a']}_${'%.2f' % 1.5}_${'a' if 1 else 'b'}"/>""",
    "text": """<gazebo><plugin name="p">  ${1 + 1} &lt; 3 </plugin></gazebo>""",
}


@pytest.mark.parametrize("case", DOCUMENTS)
def test_expansion_equals_that_of_the_package(case: str, tmp_path: Path) -> None:
    path = write(tmp_path / "robot.xacro", DOCUMENTS[case])
    ours = ElementTree.canonicalize(locate(path).text, strip_text=True)
    theirs = ElementTree.canonicalize(xacro.process(str(path), mappings={}), strip_text=True)
    assert ours == theirs.replace(' xmlns:xacro="http://www.ros.org/wiki/xacro"', "")


def test_includes_yaml_and_units_equal_those_of_the_package(tmp_path: Path) -> None:
    write(tmp_path / "parts" / "wheel.xacro", """<xacro:macro name="wheel" params="n"><link name="w${n}"/></xacro:macro>
        <xacro:property name="radius" value="0.1"/>""")  # fmt: skip
    (tmp_path / "data.yaml").write_text("arm: {length: 0.5, names: [a, b]}\nturn: !degrees 90\n")
    path = write(tmp_path / "robot.xacro", """<xacro:include filename="parts/wheel.xacro"/>
        <xacro:include filename="parts/wheel.xacro" ns="front"/><xacro:wheel n="${radius}"/><xacro:front.wheel n="2"/>
        <xacro:property name="data" value="${xacro.load_yaml('data.yaml')}"/><link name="${data['arm']['names'][1]}"/>
        <link name="${data.arm.length}_${data.turn}_${front.radius}"/>""")  # fmt: skip
    ours = ElementTree.canonicalize(locate(path).text, strip_text=True)
    theirs = ElementTree.canonicalize(xacro.process(str(path), mappings={}), strip_text=True)
    assert ours == theirs.replace(' xmlns:xacro="http://www.ros.org/wiki/xacro"', "")


def test_find_needs_no_ros(tmp_path: Path) -> None:
    write(tmp_path / "ws" / "parts_description" / "urdf" / "hand.xacro", '<link name="hand"/>')
    (tmp_path / "ws" / "parts_description" / "package.xml").write_text("<package><name>parts</name></package>")
    path = write(tmp_path / "ws" / "my_arm" / "urdf" / "arm.xacro",
                 '<xacro:include filename="$(find parts)/urdf/hand.xacro"/>')  # fmt: skip
    assert list(Robot.from_urdf(path).links) == ["hand"]
    text = path.read_text()
    with pytest.raises(ModelError, match=r"asks for the package 'parts'.*pass package_paths"):
        Robot.from_urdf(text, xacro_args={})
    assert list(Robot.from_urdf(text, xacro_args={}, package_paths=[tmp_path / "ws"]).links) == ["hand"]


def test_source_tree_that_is_installed_otherwise_is_found_by_its_layout(tmp_path: Path) -> None:
    package = tmp_path / "example"
    write(package / "description" / "control" / "hand.xacro", '<link name="hand"/>')
    (package / "package.xml").write_text("<package><name>demo</name></package>")
    path = write(package / "description" / "urdf" / "arm.xacro",
                 '<xacro:include filename="$(find demo)/control/hand.xacro"/>')  # fmt: skip
    assert list(Robot.from_urdf(path).links) == ["hand"]


def test_unknown_macro_is_ignored_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "arm.xacro"
    path.write_text(arm(more='<xacro:sensors prefix="a"/>'))
    robot = Robot.from_urdf(path)
    assert robot.warnings == (
        "arm.xacro:8: <xacro:sensors>: there is no macro 'sensors', ignored; define it, or include the file that does",
    )
    assert "there is no macro 'sensors'" in only_problem_of(path)


# The two that got through the filter of the package xacro, and their relatives.
PAYLOADS = [
    "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen'][0]('touch {mark}', shell=True)",
    "(lambda f: f(f))(lambda f: [c for c in ().__class__.__base__.__subclasses__()])",
    "(lambda: (yield))().gi_frame.f_back.f_builtins['__import__']('os').system('touch {mark}')",
    "(x for x in [1]).gi_frame.f_back.f_globals['__builtins__']['open']('{mark}', 'w')",
    "load_yaml.__globals__['os'].system('touch {mark}')",
    "xacro.load_yaml.__self__._files",
    "math.__loader__.load_module('os').system('touch {mark}')",
    "'{{0.__class__}}'.format(1)",
    "str.format('{{0.__class__}}', 1)",
    "__import__('os').system('touch {mark}')",
    "open('{mark}', 'w')",
    "eval('1')",
    "exec('1')",
    "getattr(1, 'real')",
    "python.type(1)",
    "(a := 1)",
    "f'{{1}}'",
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_expression_runs_code(payload: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    expression = payload.format(mark=mark)
    with pytest.raises(ExpressionError):
        evaluate(expression, global_names(load_yaml=lambda name: {}), Budget(10_000))
    with pytest.raises(ModelError):
        Robot.from_urdf(write(tmp_path / "evil.xacro", f'<link name="${{{expression}}}"/>'))
    assert not mark.exists()


BOMBS = [
    "9 ** 9 ** 9",
    "'a' * 10 ** 9",
    "[0] * 10 ** 9",
    "[[0] * 10 ** 4] * 10 ** 4",
    "[x for x in range(10 ** 9)]",
    "[range(10 ** 4) for x in range(10 ** 4)]",
    "map(range, [10 ** 4] * 10 ** 4)",
    "'%1000000000d' % 1",
    "('a' * 10 ** 6).replace('a', 'b' * 10 ** 6)",
    "('a' * 999).join(['a' * 10 ** 4] * 10 ** 4)",
    "math.factorial(10 ** 9)",
    "sum([[0] * 10 ** 4] * 10 ** 4, [])",
    "(" * 500 + "1" + ")" * 500,
    "-" * 9000 + "1",
    "[" * 5000 + "]" * 5000,
    "str([['a' * 10 ** 4] * 10 ** 4] * 10 ** 4)",
    "'{:1000000000}'.format(1)",
]


@pytest.mark.parametrize("bomb", BOMBS)
def test_no_expression_takes_the_machine(bomb: str, tmp_path: Path) -> None:
    path = write(tmp_path / "bomb.xacro", f'<link name="${{len(str({bomb}))}}"/>')
    with pytest.raises(ModelError, match=r"bomb\.xacro:1: <link>: \$\{"):
        Robot.from_urdf(path)


@pytest.mark.parametrize(
    "body",
    [
        '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>',
        '<xacro:macro name="m"><xacro:m/><xacro:m/></xacro:macro><xacro:m/>',
        '<xacro:include filename="endless.xacro"/>',
        '<xacro:property name="a" value="${b}"/><xacro:property name="b" value="${a}"/><link name="${a}"/>',
        "".join(
            f'<xacro:macro name="m{i}"><xacro:m{i + 1}/><xacro:m{i + 1}/><xacro:m{i + 1}/></xacro:macro>'
            for i in range(30)
        )
        + '<xacro:macro name="m30"><link name="l"/></xacro:macro><xacro:m0/>',
    ],
)
def test_endless_documents_end_with_a_sentence(body: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"itself|too much work|by itself|deep"):
        Robot.from_urdf(write(tmp_path / "endless.xacro", body))


def test_environment_is_read_only_where_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hidden")
    path = write(tmp_path / "arm.xacro", '<link name="$(env SECRET)"/>')
    problem = only_problem_of(path)
    assert problem.startswith("arm.xacro:1: <link>: $(env SECRET) reads a variable of this machine; pass xacro_env=")
    assert "hidden" not in problem
    assert list(Robot.from_urdf(path, xacro_env=os.environ).links) == ["hidden"]
    optional = write(tmp_path / "optional.xacro", '<link name="$(optenv SECRET my default)"/>')
    assert list(Robot.from_urdf(optional).links) == ["my default"]


@pytest.mark.parametrize(
    "body",
    [
        '<xacro:include filename="{outside}/secret.xml"/>',
        '<xacro:include filename="../secret.xml"/>',
        "<link name=\"${{load_yaml('{outside}/secret.yaml')}}\"/>",
        "<link name=\"${{xacro.load_yaml('../secret.yaml')}}\"/>",
        '<xacro:include filename="link.xml"/>',
        '<xacro:include filename="file://{outside}/secret.xml"/>',
        '<xacro:include filename="package://etc/passwd"/>',
        '<xacro:include filename="$(find etc)/passwd"/>',
        '<xacro:include filename="{outside}/*.xml"/>',
    ],
)
def test_files_outside_are_not_read(body: str, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("password: 1234")
    (tmp_path / "secret.xml").write_text('<robot><link name="secret1234"/></robot>')
    path = write(tmp_path / "arm" / "arm.xacro", body.format(outside=tmp_path))
    (tmp_path / "arm" / "link.xml").symlink_to(tmp_path / "secret.xml")
    with pytest.raises(ModelError) as caught:
        Robot.from_urdf(path)
    assert "1234" not in str(caught.value)


@pytest.mark.parametrize("content", ["a: &a [x, x]\n" + "".join(
    f"{n}: &{n} [*{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}]\n" for p, n in zip("abcdefgh", "bcdefghi")
), "a: &a [*a]", "!!python/object/apply:os.system [ls]", "{", "\x00"])  # fmt: skip
def test_hostile_yaml_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "data.yaml").write_text(content)
    path = write(tmp_path / "arm.xacro", "<link name=\"${load_yaml('data.yaml')}\"/>")
    with pytest.raises(ModelError, match=r"data\.yaml"):
        Robot.from_urdf(path)


def test_expressions_compute_as_python_does(tmp_path: Path) -> None:
    path = tmp_path / "e.xacro"
    assert float(evaluated(path, "atan2(1, 2) + 3 % 2 - -1")) == math.atan2(1, 2) + 3 % 2 + 1
    assert evaluated(path, "'abc'[1:] + str(1.5) + ' '.join(['x', 'y'])") == "bc1.5x y"
    assert evaluated(path, "round(5, -10 ** 9)") == "0"
    assert evaluated(path, "sorted([3, 1, 2])[-1] if 1 &lt; 2 &lt; 3 else None") == "3"
