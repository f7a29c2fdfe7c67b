"""All that is compiled, loaded before the first picture comes."""

from __future__ import annotations

import numpy as np

from ..geometry import RobotBody
from .camera import StereoModel
from .disparity import MatcherSettings
from .frames import StereoPair
from .pipeline import Pipeline
from .settings import PipelineSettings


def warm_up(body: RobotBody | None) -> None:
    """Understand two small pictures, so that the first real one takes no longer than the others.

    Args:
        body: The robot that is to be filtered out; None if there is none.
    """
    random = np.random.default_rng(0)
    picture = random.integers(0, 256, (96, 160), dtype=np.uint8)
    stereo = StereoModel.ideal(160, 96, 120.0, 120.0, 80.0, 48.0, 0.1)
    # As large pictures are matched, which is all that small ones need, and the refinement.
    pipeline = Pipeline(stereo, body=body, settings=PipelineSettings(matcher=MatcherSettings(column_step=2)))
    q = None if body is None else np.zeros(body.chain.n)
    for number in range(2):
        # Everything is as far away as a shift of twelve pixels says.
        pair = StereoPair(number, np.eye(4), np.roll(picture, 12, axis=1), picture, q)
        pipeline.feed(pair)
