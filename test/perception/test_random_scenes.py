"""Position and size accuracy on random scenes that were not used for tuning.

Limits are those of `test_truth.py`: every object of 4 cm and more is found once and nothing else, its centre within
2 cm + 2 σ_z, its size within 3 cm. Constants were tuned on scenes with seeds from 1000 on, never on these.
"""

from __future__ import annotations

from functools import cache

import pytest

from manipapy_core.perception import MatcherSettings, PerceptionPipeline, PerceptionSettings
from perception.random_scenes import DISTANCES, RandomScene, random_scene
from perception.scenes import STEREO, feed_twice
from perception.test_truth import check_against_truth

QUICK, ALL = range(3), range(10)
"""Seeds of every run, and of `make test-all`."""
SETTINGS = PerceptionSettings(lower=(-1.0, -0.9, -0.3), upper=(1.0, 0.9, 1.0), matcher=MatcherSettings(min_depth=0.4))


def cases() -> list[object]:
    found = []
    for kind in ("pair", "depth"):
        for seed in ALL:
            for between in DISTANCES:
                marks = [] if seed in QUICK else [pytest.mark.slow]
                found.append(pytest.param(kind, seed, between, marks=marks, id=f"{kind}-{seed}-{between[0]}"))
    return found


@cache
def scene_of(seed: int, between: tuple[float, float]) -> RandomScene:
    return random_scene(seed, between)


@pytest.mark.parametrize(("kind", "seed", "between"), cases())
def test_objects_of_random_scenes_are_found(kind, seed, between):
    scene = scene_of(seed, between)
    frame = scene.pair if kind == "pair" else scene.depth
    check_against_truth(feed_twice(PerceptionPipeline(STEREO, settings=SETTINGS), frame), scene.objects)
