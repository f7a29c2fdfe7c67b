"""The commands of the terminal, run as typer runs them."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from manipapy_core.capability import JointSet, project
from manipapy_core.capability.drawing import draw_polytope, edges_of
from manipapy_core.cli_capability import register
from manipapy_core.errors import InputError
from manipapy_core.plots import new_axes

ARM = ["panda", "--tip", "panda_hand_tcp"]


@pytest.fixture(scope="module")
def run():
    app = typer.Typer()
    register(app)
    runner = CliRunner()

    def run(*words, code=0):
        result = runner.invoke(app, list(words), catch_exceptions=code == 0)
        if code == 0:
            assert result.exit_code == 0, result.output
        return result.output

    return run


@pytest.fixture(scope="module")
def map_file(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("maps") / "panda.npz"
    options = ["--samples", "200000", "--resolution", "0.1", "--no-self-collision"]
    assert "cells met" in run("reach", "build", *ARM, "--map", str(path), *options)
    return str(path)


def test_reachable_poses_are_told_from_others(run, map_file):
    text = run("reach", "query", *ARM, "--map", map_file, "0.4 0 0.4 180 0 0", "4 0 0.4 180 0 0")
    rows = [line for line in text.splitlines() if "180" in line]
    assert "yes" in rows[0] and "no" in rows[1]


def test_places_are_listed(run, map_file):
    assert "heading" in run("reach", "place", *ARM, "--map", map_file, "1.4 0 0.4 180 0 0", "--count", "2")


def test_a_picture_is_written(run, map_file, tmp_path):
    run("reach", "show", *ARM, "--map", map_file, str(tmp_path / "map.png"))
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_polytope_is_printed(run):
    text = run("polytope", *ARM, "--", "0.3", "-0.6", "0.2", "-1.9", "0.4", "1.8", "0.5")
    assert "half-spaces" in text and "largest ball" in text


def test_wrong_words_are_answered_with_a_cure(run, map_file):
    with pytest.raises(InputError, match="this arm has 7"):
        run("polytope", *ARM, "0.1", code=1)
    with pytest.raises(InputError, match="six numbers"):
        run("reach", "query", *ARM, "--map", map_file, "here", code=1)


def test_a_cube_is_drawn_with_its_twelve_edges():
    cube = project([[1, 0, 0], [0, 1, 0], [0, 0, 1.0]], JointSet.box([-1, -1, -1], [1, 1, 1]))
    assert len(edges_of(cube)) == 12
    axes = new_axes()
    assert draw_polytope(axes, cube) is not None
    assert draw_polytope(axes, project([[0.0], [0.0], [1.0]], JointSet.box([-1], [1]))) is not None
