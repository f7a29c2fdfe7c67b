"""The promises about place and size, on scenes that nothing was tuned on.

Limits are those of `test_truth.py`: every thing of 4 cm and more is found once and nothing else, its middle within
2 cm + 2 σ_z, its size within 3 cm. Constants were chosen on scenes with seeds from 1000 on, never on these.
"""

from __future__ import annotations

from functools import cache

import pytest

from manipapy_core.perception import MatcherSettings, PerceptionPipeline, PerceptionSettings
from perception.scenes import STEREO, feed_twice
from perception.test_truth import check_against_truth
from perception.unseen_scenes import DISTANCES, UnseenScene, unseen_scene

QUICK, ALL = range(3), range(10)
"""Seeds of every run, and of `make test-all`."""
SETTINGS = PerceptionSettings(lower=(-1.0, -0.9, -0.3), upper=(1.0, 0.9, 1.0), matcher=MatcherSettings(nearest=0.4))


def cases() -> list[object]:
    found = []
    for kind in ("pair", "depth"):
        for seed in ALL:
            for between in DISTANCES:
                marks = [] if seed in QUICK else [pytest.mark.slow]
                found.append(pytest.param(kind, seed, between, marks=marks, id=f"{kind}-{seed}-{between[0]}"))
    return found


@cache
def seen(seed: int, between: tuple[float, float]) -> UnseenScene:
    return unseen_scene(seed, between)


@pytest.mark.parametrize(("kind", "seed", "between"), cases())
def test_things_of_unseen_scenes_are_found_where_they_are(kind, seed, between):
    scene = seen(seed, between)
    frame = scene.pair if kind == "pair" else scene.depth
    check_against_truth(feed_twice(PerceptionPipeline(STEREO, settings=SETTINGS), frame), scene.things)
