"""Objects that touch or are close to each other: one obstacle each, and all their points covered."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from manipapy_core.perception import PerceptionPipeline, PerceptionSettings
from perception.depth_scenes import DepthScene, ball, box, camera_at, can, inside_share, points_of

ABOVE, OBLIQUE = math.pi / 2, 0.8
NEAR = PerceptionSettings(lower=(-0.7, -0.6, -0.3), upper=(0.7, 0.6, 1.0))
UNSPLIT = replace(NEAR, clusters=replace(NEAR.clusters, split=False))

PAIRS = {
    "boxes": (box((0.1, 0.1, 0.1), (-0.05, 0.0)), lambda gap: box((0.08, 0.12, 0.07), (0.04 + gap, 0.0))),
    "cans": (can(0.07, 0.12, (-0.035, 0.0)), lambda gap: can(0.08, 0.1, (0.04 + gap, 0.0))),
    "ball and box": (ball(0.08, (-0.04, 0.0)), lambda gap: box((0.06, 0.1, 0.12), (0.03 + gap, 0.0))),
    "tool and box": (box((0.03, 0.15, 0.013), (-0.015, 0.0)), lambda gap: box((0.1, 0.08, 0.1), (0.05 + gap, 0.0))),
}


def feed(scene: DepthScene, T, settings=NEAR, frames: int = 2, seed: int = 0):
    """Result of each frame, with the points of each object."""
    pipeline = PerceptionPipeline(settings=settings)
    for number in range(frames):
        frame, labels = scene.frame(T, seed, number)
        yield pipeline.feed(frame), [points_of(frame, labels == k) for k in range(len(scene.objects))]


@pytest.mark.parametrize(
    ("name", "gap", "elevation", "azimuth"),
    [
        *((name, gap, ABOVE, 0.3) for name in PAIRS for gap in (0.0, 0.02)),
        *((name, 0.02, OBLIQUE, azimuth) for name in PAIRS for azimuth in (0.3, 1.6)),
        ("boxes", 0.0, OBLIQUE, 0.3),
        *((name, 0.0, OBLIQUE, 1.6) for name in ("cans", "ball and box", "tool and box")),
    ],
)
def test_two_objects_are_two_obstacles(name, gap, elevation, azimuth):
    first, second = PAIRS[name]
    scene, T = DepthScene([first, second(gap)]), camera_at(0.8, elevation, azimuth)
    for result, objects in feed(scene, T):
        assert len(result.covered) == 2
        hulls = [obstacle.hull for obstacle in result.covered]
        assert inside_share(np.concatenate(objects), hulls) > 0.995
        for points in objects:
            # Most of each object in one obstacle, and less of it in the other.
            shares = sorted(inside_share(points, [hull]) for hull in hulls)
            assert shares[1] > 0.9 and shares[0] < 0.6


def test_edge_of_a_half_hidden_tool_is_covered():
    """Its few visible voxels have few neighbours, but are no noise."""
    first, second = PAIRS["tool and box"]
    for result, (tool, _) in feed(DepthScene([first, second(0.0)]), camera_at(0.8, OBLIQUE, 0.3)):
        assert inside_share(tool, [obstacle.hull for obstacle in result.covered]) > 0.99


def test_touching_boxes_were_one_obstacle_without_the_split():
    first, second = PAIRS["boxes"]
    *_, (result, _) = feed(DepthScene([first, second(0.0)]), camera_at(0.8, OBLIQUE), UNSPLIT)
    assert len(result.covered) == 1


@pytest.mark.parametrize("elevation", [ABOVE, 1.45, OBLIQUE, 0.6])
@pytest.mark.parametrize(
    "solid",
    [box((0.14, 0.1, 0.22), (0, 0), 0.4), can(0.1, 0.22, (0, 0)), ball(0.1, (0, 0)), box((0.18, 0.02, 0.012), (0, 0))],
    ids=["box", "can", "ball", "tool"],
)
def test_convex_object_stays_one(solid, elevation):
    for seed in range(3):
        for result, _ in feed(DepthScene([solid]), camera_at(0.9, elevation, 0.5), seed=seed):
            assert len(result.covered) == 1


def test_stack_is_covered_down_to_the_table():
    """The upper box is an obstacle of its own; nothing shows that the space below it is free."""
    scene = DepthScene([box((0.16, 0.16, 0.1), (0.0, 0.0)), box((0.07, 0.07, 0.08), (0.0, 0.0), bottom=0.1)])
    for result, objects in feed(scene, camera_at(0.8, OBLIQUE)):
        hulls = [obstacle.hull for obstacle in result.covered]
        assert len(hulls) == 2
        assert all(hull.vertices[:, 2].min() < 0.02 for hull in hulls)
        assert inside_share(np.concatenate(objects), hulls) > 0.998
