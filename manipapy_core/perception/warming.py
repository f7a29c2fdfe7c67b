"""All that is compiled, loaded before the first picture comes."""

from __future__ import annotations

import numpy as np

from .. import lie
from ..geometry import RobotBody
from .camera import StereoModel
from .clusters import ClusterSettings, find_clusters
from .disparity import MatcherSettings
from .frames import StereoPair
from .pipeline import Pipeline
from .planes import PlaneFound
from .settings import PipelineSettings
from .sight import Sight
from .voxels import Voxels


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
    _understand_a_cube()


def _understand_a_cube() -> None:
    """A thing on a table, since noise holds none."""
    rows = np.arange(0.0, 0.05, 0.01)
    xyz = np.stack(np.meshgrid(rows, rows, rows + 0.01), axis=-1).reshape(-1, 3).astype(np.float32)
    voxels = Voxels(xyz, np.full(len(xyz), 0.002, np.float32), np.full(len(xyz), 4, np.int32), 0.01)
    table = PlaneFound(np.array([0.0, 0.0, 1.0]), 0.0, 1000, False, np.full(2, -1.0), np.full(2, 1.0), 1.0)
    T = lie.pose(lie.exp_so3([0.0, 0.75 * np.pi, 0.0]), [-1.0, 0.0, 1.0])
    K = np.array([[100.0, 0.0, 40.0], [0.0, 100.0, 30.0], [0.0, 0.0, 1.0]])
    sight = Sight(np.full((60, 80), np.sqrt(2.0), np.float32), K, T)
    find_clusters(voxels, ClusterSettings(), planes=(table,), eye=T[:3, 3], sight=sight, blur=0.02)
