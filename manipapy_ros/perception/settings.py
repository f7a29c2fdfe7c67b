"""Parameters of the node `perception`, all of which may change while it runs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from rclpy.parameter import Parameter

from manipapy_core import kinematics
from manipapy_core.errors import InputError
from manipapy_core.model import Chain
from manipapy_core.perception import (
    ClusterSettings,
    MatcherSettings,
    Method,
    PerceptionSettings,
    PlaneSettings,
    TrackSettings,
)

from ..common.params import Param, Value

BEYOND = 0.2
"""What is this much farther than the arm reaches is still looked at [m]: it has a size, and may come nearer."""
LIVE_PARAMETERS = (
    Param("stereo.method", Method.SGBM_3WAY.value, f"One of {', '.join(method.value for method in Method)}"),
    Param("stereo.nearest", 0.5, "Nearest depth that is wanted [m]; decides what matching costs",
          minimum=0.05, maximum=10.0),
    Param("stereo.farthest", 3.0, "Farthest depth that is wanted [m]", minimum=0.1, maximum=30.0),
    Param("stereo.row_step", 0, "Rows averaged before matching; 1 is more exact far away, 0: two from 400 rows on",
          minimum=0, maximum=8),
    Param("stereo.column_step", 0, "Columns averaged for the search; 1 sees thinner things, 0: two from 600 columns on",
          minimum=0, maximum=2),
    Param("stereo.left_right", 1.0, "How far matches from left and right may disagree [pixels]",
          minimum=0.0, maximum=10.0),
    Param("stereo.thorough", False, "Match from the right, too: what only one camera sees is left out"),
    Param("stereo.texture", 1.0, "Least contrast that is matched [grey values]", minimum=0.0, maximum=50.0),
    Param("stereo.sigma", 0.2, "Standard deviation of a disparity [pixels]", minimum=0.01, maximum=5.0),
    Param("depth_noise", 0.002, "Standard deviation of a depth camera at 1 m [m]", minimum=1e-5, maximum=0.5),
    Param("largest_width", 640, "Wider pictures are made smaller first [pixels]", minimum=16, maximum=4096),
    Param("crop.lower", [], "Corner of the box that is looked at, in the base [m]; empty: no box",
          kind=Parameter.Type.DOUBLE_ARRAY),
    Param("crop.upper", [], "The opposite corner [m]", kind=Parameter.Type.DOUBLE_ARRAY),
    Param("crop.reach", 0.0, "How far from the base is looked at [m]; 0: as far as the arm reaches, and 0.2 m more",
          minimum=0.0, maximum=1000.0),
    Param("voxel", 0.01, "Edge of the cells that points are merged in [m]", minimum=0.001, maximum=0.5),
    Param("self.padding", 0.025, "The robot counts as so much thicker [m]", minimum=0.0, maximum=0.5),
    Param("planes.most", 2, "Tables and floors taken out; 0: they are obstacles", minimum=0, maximum=10),
    Param("planes.thickness", 0.01, "Half of a plane's thickness [m]", minimum=0.001, maximum=0.2),
    Param("clusters.eps", 0.025, "Reach of a point [m]", minimum=0.002, maximum=0.5),
    Param("clusters.min_samples", 6, "Points within reach that make a core point", minimum=1, maximum=1000),
    Param("clusters.least_points", 12, "Smaller clusters are noise", minimum=1, maximum=100_000),
    Param("clusters.padding", 0.005, "Obstacles are larger than seen, by this on every side [m]",
          minimum=0.0, maximum=0.5),
    Param("tracks.confirm", 2, "Frames that must show a thing before it is believed", minimum=1, maximum=100),
    Param("tracks.forget_empty", 3, "Frames that must show its place empty before it goes", minimum=1, maximum=100),
)  # fmt: skip


def settings_of(values: Mapping[str, Value], reach: float) -> PerceptionSettings:
    """What the parameters say.

    Args:
        reach: Of the arm from its base, where they do not say how far is to be looked at [m].

    Raises:
        InputError: Values that do not go together.
    """
    method = str(values["stereo.method"])
    known = [entry.value for entry in Method]
    if method not in known:
        raise InputError(f"stereo.method is {method!r}; choose one of {', '.join(known)}")
    return PerceptionSettings(
        matcher=MatcherSettings(
            method=Method(method),
            nearest=float(values["stereo.nearest"]),
            farthest=float(values["stereo.farthest"]),
            row_step=int(values["stereo.row_step"]),
            column_step=int(values["stereo.column_step"]),
            left_right=float(values["stereo.left_right"]),
            thorough=bool(values["stereo.thorough"]),
            texture=float(values["stereo.texture"]),
            sigma=float(values["stereo.sigma"]),
        ),
        planes=PlaneSettings(most=int(values["planes.most"]), thickness=float(values["planes.thickness"])),
        clusters=ClusterSettings(
            eps=float(values["clusters.eps"]),
            farthest_reach=max(ClusterSettings.farthest_reach, float(values["clusters.eps"])),
            min_samples=int(values["clusters.min_samples"]),
            least_points=int(values["clusters.least_points"]),
            padding=float(values["clusters.padding"]),
        ),
        tracks=TrackSettings(confirm=int(values["tracks.confirm"]), forget_empty=int(values["tracks.forget_empty"])),
        largest_width=int(values["largest_width"]),
        depth_noise=float(values["depth_noise"]),
        lower=_corner(values["crop.lower"], "crop.lower", -math.inf),
        upper=_corner(values["crop.upper"], "crop.upper", math.inf),
        reach=float(values["crop.reach"]) or reach + BEYOND,
        voxel=float(values["voxel"]),
        self_padding=float(values["self.padding"]),
    )


def _corner(value: Value, name: str, otherwise: float) -> tuple[float, float, float]:
    numbers = [float(number) for number in value] if isinstance(value, list) else []
    if not numbers:
        return (otherwise, otherwise, otherwise)
    if len(numbers) != 3:
        raise InputError(f"{name} is {numbers}; give x, y and z [m], or nothing")
    return (numbers[0], numbers[1], numbers[2])


def reach_of(chain: Chain) -> float:
    """How far any link of an arm gets from the base [m]: the farthest of many configurations, spread evenly."""
    lower, upper = chain.limits.lower, chain.limits.upper
    low, high = np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)
    q = low + (high - low) * np.random.default_rng(0).random((4000, chain.n))
    return float(np.linalg.norm(kinematics.link_poses(chain, q)[..., :3, 3], axis=-1).max())
