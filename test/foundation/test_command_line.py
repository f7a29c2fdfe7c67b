"""The command `manipapy`: its help texts arrive complete, and `manipapy cache` shows and clears the cache."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner

from manipapy_core import Robot
from manipapy_core.cli.app import add_commands, app, main
from manipapy_core.compiler import cache

add_commands()
UNIT = re.compile(r"\[[^\]]+\]")


def commands() -> Iterator[tuple[list[str], list[str]]]:
    """Words of every command, and the units that the texts of its options name."""

    def walk(command, words):
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, [*words, name])
        texts = [parameter.help or "" for parameter in command.params if getattr(parameter, "help", None)]
        units = [unit for text in texts for unit in UNIT.findall(text)]
        if units:
            yield words, units

    yield from walk(typer.main.get_command(app), [])


def leaves(command, words=()) -> Iterator[tuple[str, ...]]:
    """Words of every command."""
    inner = getattr(command, "commands", {})
    if not inner:
        yield tuple(words)
    for name, item in inner.items():
        yield from leaves(item, (*words, name))


def unbroken(text: str) -> str:
    """Text without the line breaks of the help, which are elsewhere with other versions of typer."""
    return " ".join(text.split())


COMMANDS = list(leaves(typer.main.get_command(app)))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_of_every_command_has_an_example(words):
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert re.search(rf"Example: .*manipapy {' '.join(words)}", unbroken(shown.output))


def test_every_command_is_on_its_page(project):
    page = (project / "docs/command_line.md").read_text(encoding="utf-8")
    assert not [words for words in COMMANDS if f"`{' '.join(words)}`" not in page]
    assert len(COMMANDS) > 15


@pytest.mark.parametrize("words", [("describe", "ur5"), ("describe", "ur5", "--tip", "tool0"), ("cache",)])
def test_json_is_one_document(words):
    shown = CliRunner().invoke(app, [*words, "--json"])
    assert shown.exit_code == 0
    data = json.loads(shown.output, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    if words[0] == "describe":
        assert [joint["name"] for joint in data["joints"] if joint["name"] == "elbow_joint"]
        assert data["mass"] == pytest.approx(Robot.from_urdf("ur5").mass)


def test_commands_start_without_numpy_and_ros():
    """Or the help would take seconds."""
    program = "from manipapy_core.cli.app import add_commands; add_commands(); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"numpy", "rclpy", "numba", "llvmlite", "yaml", "matplotlib"} & set(done.stdout.split())


@pytest.mark.parametrize(("words", "units"), [pytest.param(*case, id=" ".join(case[0])) for case in commands()])
def test_units_are_shown(words, units):
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    for unit in units:
        assert unit in unbroken(shown.output)


def test_cache_command_shows_folder_entries_and_sizes(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setenv(cache.LIMIT_VARIABLE, str(3 << 20))
    cache.write("forward-0123.kernel", bytes(2000))
    cache.write("forward-4567.kernel", bytes(2000))
    cache.write("forward-89ab.index", bytes(10))
    shown = CliRunner().invoke(app, ["cache"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert str(tmp_path) in shown.output
    assert "3 files, 4 KiB of at most 3 MiB" in shown.output
    assert re.search(r"kernel +forward +2 +4 KiB", shown.output)


def test_cache_command_clears_the_cache_and_no_other_file(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path))
    cache.write("forward-0123.kernel", bytes(2000))
    (tmp_path / "notes.txt").write_text("not from the cache")
    shown = CliRunner().invoke(app, ["cache", "--clear"])
    assert shown.exit_code == 0 and "1 files removed" in shown.output
    # The key that authenticates files of the cache stays with the folder.
    assert sorted(path.name for path in tmp_path.iterdir()) == [".key", "notes.txt"]


def test_cache_command_shows_a_folder_that_does_not_exist_as_empty(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path / "none"))
    shown = CliRunner().invoke(app, ["cache"])
    assert shown.exit_code == 0 and "0 files" in shown.output


def test_describe_strict_lists_every_mistake_and_warning(tmp_path, monkeypatch, capsys):
    (tmp_path / "arm.urdf").write_text(
        '<robot><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 0 2"/><limit lower="-1" upper="1" effort="-1" velocity="1"/></joint></robot>'
    )
    shown = CliRunner().invoke(app, ["describe", str(tmp_path / "arm.urdf")])
    assert shown.exit_code == 0
    assert shown.output.count("warning: arm.urdf:1:") == 3
    monkeypatch.setattr("sys.argv", ["manipapy", "describe", str(tmp_path / "arm.urdf"), "--strict"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "2 problems" in said
    assert "attribute 'name' is missing" in said
    assert "effort is -1, taken as none" in said
    assert "warning: arm.urdf:1: <axis> of joint 'j': xyz has length 2" in said
