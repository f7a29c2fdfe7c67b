"""What `manipapy … --help` shows: nothing of the texts gets lost on the way to the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner

from manipapy_core.cli.app import add_commands, app

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


@pytest.mark.parametrize(("words", "units"), [pytest.param(*case, id=" ".join(case[0])) for case in commands()])
def test_units_are_shown(words, units):
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    for unit in units:
        assert unit in shown.output
