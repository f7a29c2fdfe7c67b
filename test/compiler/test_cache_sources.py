"""What a change of the library's source does to cached kernels: no stale code, and no compilation for a comment."""

from __future__ import annotations

import ast
import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import manipapy_core
from import_graph import imports_of
from manipapy_core.compiler import cache, sources
from manipapy_core.compiler.algorithms.ik_step import Task, Variant
from manipapy_core.compiler.formulas import absolute, clamp
from manipapy_core.compiler.kernels import RECIPES, Recipe
from manipapy_core.compiler.mechanism import mechanism_of
from manipapy_core.model import Robot

PACKAGE = Path(manipapy_core.__file__).parent
PROGRAM = """
import json, sys
from manipapy_core import Robot, kinematics, dynamics
from manipapy_core.compiler.llvm import engine
calls = {"trace": 0, "compile": 0}
def counted(name, function):
    def call(*arguments):
        calls[name] += 1
        return function(*arguments)
    return call
engine.trace, engine._compile = counted("trace", engine.trace), counted("compile", engine._compile)
chain = Robot.from_urdf(sys.argv[1], check_meshes=False).chain("base_link", "tool0")
calls["tip"] = kinematics.forward(chain, [0.1] * 6)[0, 3]
calls["file"] = engine.__file__
print(json.dumps(calls))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the library whose source may be changed, with a cache of its own that has one kernel."""
    top = tmp_path_factory.mktemp("tree")
    leave_out = shutil.ignore_patterns("__pycache__", "robots")
    shutil.copytree(PACKAGE, top / "manipapy_core", ignore=leave_out)
    first = run(top)
    assert (first["trace"], first["compile"]) == (1, 1)
    assert Path(first["file"]).is_relative_to(top)
    return top


def run(top: Path) -> dict[str, float | str]:
    environment = {**os.environ, "PYTHONPATH": str(top), cache.FOLDER_VARIABLE: str(top / "cache")}
    command = [sys.executable, "-c", PROGRAM, str(PACKAGE / "model" / "robots" / "ur5.urdf")]
    done = subprocess.run(command, env=environment, cwd=top, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def append(top: Path, file: str, text: str) -> None:
    with open(top / "manipapy_core" / file, "a", encoding="utf-8") as source:
        source.write(text)


def test_a_second_process_neither_traces_nor_compiles(copy):
    again = run(copy)
    assert (again["trace"], again["compile"]) == (0, 0)


def test_a_comment_in_an_algorithm_compiles_nothing(copy):
    append(copy, "compiler/algorithms/kinematics.py", "\n# a comment\n")
    changed, after = run(copy), run(copy)
    assert (changed["trace"], changed["compile"]) == (1, 0)
    assert (after["trace"], after["compile"]) == (0, 0)


def test_a_change_of_the_collision_checker_does_not_touch_dynamics(copy):
    append(copy, "geometry/codegen/check.py", "\nSOMETHING = 1\n")
    changed = run(copy)
    assert (changed["trace"], changed["compile"]) == (0, 0)


def test_a_change_of_an_algorithm_is_compiled(copy):
    before = run(copy)
    twice = (
        "\n_once = forward\n\n\ndef forward(mechanism, q):\n    return [2.0 * entry for entry in _once(mechanism, q)]\n"
    )
    append(copy, "compiler/algorithms/kinematics.py", twice)
    changed = run(copy)
    assert (changed["trace"], changed["compile"]) == (1, 1)
    assert changed["tip"] == pytest.approx(2.0 * float(before["tip"]))


def test_source_files_are_those_that_parsing_finds():
    def by_parsing(module: str) -> set[str]:
        found, pending = set(), [module]
        while pending:
            name = pending.pop()
            file = sources._file_of(name)
            if file is None and name.count("."):
                name = name.rpartition(".")[0]  # a name in a module
                file = sources._file_of(name)
            if file is not None and file not in found:
                found.add(file)
                pending += [statement.module for statement in imports_of(PACKAGE / file, PACKAGE.parent)]
        return found

    for module in ("compiler.kernels", "control.fused_tick", "geometry.build", "ik.numeric"):
        name = f"manipapy_core.{module}"
        assert set(sources.imported([name])) == by_parsing(name)


def test_kernels_of_an_arm_depend_on_compiler_and_model_only():
    files = sources.imported(["manipapy_core.compiler.kernels", "manipapy_core.compiler.llvm.engine"])
    assert "compiler/algorithms/dynamics.py" in files and "compiler/llvm/sincos.py" in files
    packages = {Path(file).parts[0] for file in files}
    assert packages <= {"compiler", "model", "errors.py", "lie.py", "typing.py"}


def test_code_digest_ignores_comments_and_docstrings(tmp_path, monkeypatch):
    def code(text: str) -> str:
        (tmp_path / "some.py").write_text(text)
        sources._code.cache_clear()
        return sources._code("some.py")

    monkeypatch.setattr(sources, "_ROOT", tmp_path)
    plain = code("A = 1\ndef f(x):\n    return x\n")
    assert plain == code('"""Text."""\nA = 1  # one\n"""Unit."""\ndef f(x):\n    """Same."""\n    return x\n')
    assert plain != code("A = 1\ndef f(x):\n    return -x\n")
    sources._code.cache_clear()


@pytest.fixture(scope="module")
def mechanisms():
    robots = [("ur5", "base_link", "tool0"), ("panda", "panda_link0", "panda_hand")]
    return [mechanism_of(Robot.from_urdf(name).chain(base, tip)) for name, base, tip in robots]


def test_formulas_of_the_library_have_an_identity(mechanisms):
    ur5, _ = mechanisms
    variant = Variant(Task.POSE, (True,) * 6)
    formulas = [
        *(recipe.formula(mechanism) for recipe in RECIPES.values() for mechanism in mechanisms),
        variant.formula(ur5),
        Variant(Task.AXIS, (True,) * 6).formula(ur5),
        Variant(Task.POSE, (False,) * 6).formula(ur5),
        functools.partial(clamp, most=1.0),
        functools.partial(clamp, most=2.0),
        clamp,
        absolute,
    ]
    texts = [known.text for known in map(sources.identity, formulas) if known is not None]
    assert len(texts) == len(formulas)
    # wrench and payload kernels share their algorithm; their inputs, and so their texts, differ
    assert len(set(texts)) == len(texts)
    assert sources.identity(RECIPES["forward"].formula(ur5)) == sources.identity(
        Recipe(RECIPES["forward"].algorithm, ("q",), lambda _: (4, 4)).formula(ur5)
    )


def test_formulas_from_elsewhere_and_with_unknown_values_have_no_identity():
    assert sources.identity(lambda x: x) is None
    assert sources.identity(functools.partial(clamp, most=object())) is None
    assert sources.identity(functools.partial(clamp, most=functools.cache(absolute))) is None


def test_a_file_changed_while_the_process_runs_is_not_relied_on(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_ROOT", tmp_path)
    sources._digest.cache_clear()
    (tmp_path / "new.py").write_text("A = 1\n")
    assert sources.digests(["new.py"]) is None
    old, future = sources._START - 10.0, sources._START + 1e6
    for moment in (old, future):  # a clock that was wrong is no edit
        os.utime(tmp_path / "new.py", (moment, moment))
        sources._digest.cache_clear()
        assert sources.digests(["new.py"]) is not None
    assert sources.digests(["missing.py"]) is None
    sources._digest.cache_clear()


def test_no_module_of_the_library_lists_source_files_by_hand():
    """A digest of files outside the cache would be such a list."""
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        reads_itself = any(
            isinstance(node, ast.Call)
            and any(isinstance(inner, ast.Attribute) and inner.attr == "read_bytes" for inner in ast.walk(node))
            and "__file__" in ast.unparse(node)
            for node in ast.walk(tree)
        )
        assert not reads_itself, path
