"""Parameters of the node `perception` that may change while it runs."""

from __future__ import annotations

import math

from rclpy.parameter import Parameter

from manipapy_core.errors import InputError
from manipapy_core.perception import (
    ClusterSettings,
    MatcherSettings,
    Method,
    PaddingSettings,
    PerceptionSettings,
    PlaneSettings,
    TrackSettings,
)

from ..common.params import Param, Value, Values

REACH_MARGIN = 0.2
"""Points up to this much beyond the arm's reach are kept [m]: obstacles have a size, and may approach."""
LIVE_PARAMETERS = (
    Param("stereo.method", Method.SGBM_3WAY.value, f"One of {', '.join(method.value for method in Method)}"),
    Param("stereo.min_depth", 0.5, "Minimum depth [m]; determines the cost of matching", minimum=0.05, maximum=10.0),
    Param("stereo.max_depth", 3.0, "Maximum depth [m]", minimum=0.1, maximum=30.0),
    Param("stereo.row_step", 0, "Rows averaged before matching; 1 is more exact far away, 0: two from 360 rows on",
          minimum=0, maximum=8),
    Param("stereo.column_step", 0, "Columns averaged for the search; 1 keeps thin objects, 0: two from 440 columns on",
          minimum=0, maximum=2),
    Param("stereo.left_right_tolerance", 1.0, "Tolerance of the left-right check [pixels]", minimum=0.0, maximum=10.0),
    Param("stereo.cross_check", False, "Match from right to left as well; rejects half-occluded pixels"),
    Param("stereo.texture_threshold", 0.0, "Minimum gradient that is matched [grey values]; 0: 0.25 for images from "
          "440 columns on, 1 for smaller ones", minimum=0.0, maximum=50.0),
    Param("stereo.max_residual", 14.0, "Matches where the images differ more are rejected [grey values]; for images "
          "from 440 columns on", minimum=0.1, maximum=255.0),
    Param("stereo.max_sigma", 0.44, "Matches with a larger standard deviation as predicted from noise and texture are "
          "rejected [pixels]; for images from 440 columns on", minimum=0.01, maximum=100.0),
    Param("stereo.sigma", 0.2, "Standard deviation of a disparity [pixels]", minimum=0.01, maximum=5.0),
    Param("depth_noise", 0.0014, "Standard deviation of a depth camera at 1 m, the part that grows with the square of "
          "the depth [m]", minimum=1e-5, maximum=0.5),
    Param("depth_noise_floor", 0.0011, "Standard deviation of a depth camera, the part that is the same at all depths "
          "[m]", minimum=0.0, maximum=0.5),
    Param("measure_noise", True, "Measure the noise of the camera on the tables that it sees"),
    Param("max_width", 640, "Wider images are scaled down first [pixels]", minimum=16, maximum=4096),
    Param("crop.lower", [], "Lower corner of the crop box in the base frame [m]; empty: no box",
          kind=Parameter.Type.DOUBLE_ARRAY),
    Param("crop.upper", [], "Upper corner of the crop box [m]", kind=Parameter.Type.DOUBLE_ARRAY),
    Param("crop.reach", 0.0, "Largest distance from the base [m]; 0: the arm's reach plus 0.2 m",
          minimum=0.0, maximum=1000.0),
    Param("voxel_size", 0.01, "Edge of a voxel [m]", minimum=0.001, maximum=0.5),
    Param("self_filter.padding", 0.025, "Padding of the robot [m]", minimum=0.0, maximum=0.5),
    Param("planes.max_planes", 2, "Tables and floors removed; 0: they are obstacles", minimum=0, maximum=10),
    Param("planes.distance_threshold", 0.01, "Largest distance of a point from its plane [m]",
          minimum=0.001, maximum=0.2),
    Param("planes.max_tilt", 0.12, "Largest tilt of a plane that is removed [rad]; 1.57: walls as well",
          minimum=0.01, maximum=1.57),
    Param("surfaces.thickness", 1.0, "Tables and walls reach this far into the unknown space behind them [m]",
          minimum=0.01, maximum=5.0),
    Param("clusters.eps", 0.025, "Neighbourhood radius of DBSCAN [m]", minimum=0.002, maximum=0.5),
    Param("clusters.min_samples", 6, "Neighbours that make a core point", minimum=1, maximum=1000),
    Param("clusters.min_points", 12, "Clusters with fewer points are dropped", minimum=1, maximum=100_000),
    Param("clusters.split", True, "Split clusters that consist of several convex objects"),
    Param("padding", 0.005, "Padding of obstacles on every side [m]", minimum=0.0, maximum=0.5),
    Param("tracks.confirm", 2, "Consecutive detections that confirm an obstacle", minimum=1, maximum=100),
    Param("tracks.forget_empty", 3, "Consecutive frames with free-space evidence that remove an obstacle",
          minimum=1, maximum=100),
)  # fmt: skip


def settings_of(values: Values, reach: float) -> PerceptionSettings:
    """Settings of the pipeline from the parameters.

    Args:
        reach: Reach of the arm [m], used if `crop.reach` is 0.

    Raises:
        InputError: Inconsistent values.
    """
    method = str(values["stereo.method"])
    known = [entry.value for entry in Method]
    if method not in known:
        raise InputError(f"stereo.method is {method!r}; choose one of {', '.join(known)}")
    return PerceptionSettings(
        matcher=MatcherSettings(
            method=Method(method),
            min_depth=float(values["stereo.min_depth"]),
            max_depth=float(values["stereo.max_depth"]),
            row_step=int(values["stereo.row_step"]),
            column_step=int(values["stereo.column_step"]),
            left_right_tolerance=float(values["stereo.left_right_tolerance"]),
            cross_check=bool(values["stereo.cross_check"]),
            texture_threshold=float(values["stereo.texture_threshold"]),
            max_residual=float(values["stereo.max_residual"]),
            max_sigma=float(values["stereo.max_sigma"]),
            sigma=float(values["stereo.sigma"]),
        ),
        planes=PlaneSettings(
            max_planes=int(values["planes.max_planes"]),
            distance_threshold=float(values["planes.distance_threshold"]),
            max_tilt=float(values["planes.max_tilt"]),
        ),
        clusters=ClusterSettings(
            eps=float(values["clusters.eps"]),
            max_eps=max(ClusterSettings.max_eps, float(values["clusters.eps"])),
            min_samples=int(values["clusters.min_samples"]),
            min_points=int(values["clusters.min_points"]),
            split=bool(values["clusters.split"]),
        ),
        padding=PaddingSettings(base=float(values["padding"])),
        tracks=TrackSettings(confirm=int(values["tracks.confirm"]), forget_empty=int(values["tracks.forget_empty"])),
        max_width=int(values["max_width"]),
        depth_noise=float(values["depth_noise"]),
        depth_noise_floor=float(values["depth_noise_floor"]),
        measure_noise=bool(values["measure_noise"]),
        lower=_corner(values["crop.lower"], "crop.lower", -math.inf),
        upper=_corner(values["crop.upper"], "crop.upper", math.inf),
        reach=float(values["crop.reach"]) or reach + REACH_MARGIN,
        voxel_size=float(values["voxel_size"]),
        self_padding=float(values["self_filter.padding"]),
    )


def _corner(value: Value, name: str, otherwise: float) -> tuple[float, float, float]:
    numbers = [float(number) for number in value] if isinstance(value, list) else []
    if not numbers:
        return (otherwise, otherwise, otherwise)
    if len(numbers) != 3:
        raise InputError(f"{name} is {numbers}; give x, y and z [m], or an empty list")
    return (numbers[0], numbers[1], numbers[2])
