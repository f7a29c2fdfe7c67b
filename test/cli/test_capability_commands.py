"""The commands of the terminal, run as typer runs them."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from manipapy_core.cli.capability import register
from manipapy_core.draw import new_axes
from manipapy_core.draw.capability import draw_polytope, edges_of
from manipapy_core.errors import InputError
from manipapy_core.polytopes import JointSet, project

ARM = ["panda", "--tip", "panda_hand_tcp"]


@pytest.fixture(scope="module")
def run():
    app = typer.Typer()
    register(app)
    runner = CliRunner()

    def run(*words, code=0):
        result = runner.invoke(app, list(words), catch_exceptions=code == 0, env={"COLUMNS": "160"})
        assert result.exit_code == code, result.output
        return result.output

    return run


@pytest.fixture(scope="module")
def map_file(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("maps") / "panda.npz"
    options = ["--samples", "200000", "--resolution", "0.1", "--no-self-collision"]
    assert "cells met" in run("reach", "build", *ARM, "--map", str(path), *options)
    return str(path)


def test_reach_query_distinguishes_reachable_poses(run, map_file):
    text = run("reach", "query", *ARM, "--map", map_file, "0.4 0 0.4 180 0 0", "4 0 0.4 180 0 0")
    assert "self-distance [m]" in text
    rows = [line for line in text.splitlines() if "180" in line]
    assert "yes" in rows[0] and "no" in rows[1]


def test_places_are_listed(run, map_file):
    assert "heading" in run("reach", "place", *ARM, "--map", map_file, "1.4 0 0.4 180 0 0", "--count", "2")


def placed(text):
    """Rows of the table of places as numbers: x, y, heading, score."""
    rows = [[word.strip() for word in line.strip("│").split("│")] for line in text.splitlines() if line[:1] == "│"]
    return [[float(word) for word in row[:4]] for row in rows if row[0]]


def test_placements_respect_polygons_and_combine_scores(run, map_file, tmp_path):
    (tmp_path / "room.json").write_text("[[0.3, -2], [2.5, -2], [2.5, 2], [0.3, 2]]")
    grasps = ["1.4 0 0.4 180 0 0", "1.4 0.2 0.4 180 0 0"]
    words = ["--keep-in", str(tmp_path / "room.json"), "--keep-out", "0.5 -1, 1.2 -1, 1.2 1, 0.5 1",
             "--footprint", "0.3 0.2", "--count", "3", "--headings", "8"]  # fmt: skip
    found = {}
    for score in ("minimum", "mean", "product"):
        image = tmp_path / f"{score}.png"
        more = ["--score", score, "--image", str(image)]
        text = run("reach", "place", *ARM, "--map", map_file, *grasps, *words, *more)
        found[score] = placed(text)
        assert image.read_bytes().startswith(b"\x89PNG")
        assert 1 <= len(found[score]) <= 3
        for x, y, _, _ in found[score]:
            assert 0.3 < x < 2.5 and -2 < y < 2 and not (0.5 < x < 1.2 and -1 < y < 1)
    assert found["minimum"][0][3] <= found["mean"][0][3] + 1e-9


def test_tilted_floor_and_raised_base(run, map_file):
    def scores(*words):
        return placed(run("reach", "place", *ARM, "--map", map_file, "1.4 0 0.4 180 0 0", "--count", "1", *words))

    level = scores()
    # Standing 0.3 m above a floor that lies 0.3 m lower is standing where one stood.
    assert scores("--floor", "-0.3", "--mount", "0 0 0.3 0 0 0") == level
    assert scores("--slope", "0 20") != level


def test_no_placement_exits_with_an_error(run, map_file):
    text = run("reach", "place", *ARM, "--map", map_file, "1.4 0 0.4 180 0 0", "--keep-in", "9 9, 10 9, 10 10", code=1)
    assert placed(text) == []


def test_image_is_written(run, map_file, tmp_path):
    words = ["--height", "0.2", "--height", "0.5", "--tilt", "180", "--value", "penalised"]
    for more in ([], words):
        run("reach", "show", *ARM, "--map", map_file, str(tmp_path / "map.png"), *more)
        assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "map.png").unlink()


def test_six_dimensional_map_is_built_and_queried(run, tmp_path):
    path = str(tmp_path / "six.npz")
    options = ["--samples", "50000", "--index", "6d", "--resolution", "0.2", "--tilts", "8"]
    assert "6 dimensions" in run("reach", "build", *ARM, "--map", path, *options)
    assert "yes" in run("reach", "query", *ARM, "--map", path, "0.4 0 0.4 180 0 0")


def test_polytope_is_printed(run):
    text = run("polytope", *ARM, "0.3", "-0.6", "0.2", "-1.9", "0.4", "1.8", "0.5")
    assert "half-spaces" in text and "largest ball" in text


def test_wrong_arguments_are_refused_with_a_cure(run, map_file):
    with pytest.raises(InputError, match="this arm has 7"):
        run("polytope", *ARM, "0.1", code=1)
    with pytest.raises(InputError, match="six numbers"):
        run("reach", "query", *ARM, "--map", map_file, "here", code=1)
    with pytest.raises(InputError, match="three corners or more"):
        run("reach", "place", *ARM, "--map", map_file, "1 0 0 0 0 0", "--keep-in", "0 0, 1 0", code=1)
    with pytest.raises(InputError, match="minimum, mean, product"):
        run("reach", "place", *ARM, "--map", map_file, "1 0 0 0 0 0", "--score", "median", code=1)
    with pytest.raises(InputError, match="clearance"):
        run("reach", "show", *ARM, "--map", map_file, "x.png", "--value", "beauty", code=1)


def test_a_cube_is_drawn_with_its_twelve_edges():
    cube = project([[1, 0, 0], [0, 1, 0], [0, 0, 1.0]], JointSet.box([-1, -1, -1], [1, 1, 1]))
    assert len(edges_of(cube)) == 12
    axes = new_axes()
    assert draw_polytope(axes, cube) is not None
    assert draw_polytope(axes, project([[0.0], [0.0], [1.0]], JointSet.box([-1], [1]))) is not None
