"""Small things far away on a noisy table: found where one is, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from manipapy_core.perception import DepthMap, points_from_depth
from manipapy_core.perception.points.planes import PlaneFilter
from manipapy_core.perception.points.voxels import voxel_grid
from manipapy_core.perception.shapes.clusters import ClusterSettings, find_clusters
from manipapy_core.perception.shapes.subthreshold import find_subthreshold_objects
from manipapy_core.perception.tracking.line_of_sight import LineOfSight
from perception.scenes import PINHOLE, STEREO, looking_at

SETTINGS, UP = ClusterSettings(), (0.0, 0.0, 1.0)
PROMISED = 0.0034
"""Standard deviation of the depth at 1 m [m], as the stereo camera of the tests has it; it grows with its square."""
QUIET = 0.35
"""Share of it that is really there, as on most tables ..."""
WAVES = 3.0
"""... in waves so many pixels long, as matchers make them."""
SMEAR = 3.0
"""Pixels that matchers smear small things over."""


def picture(seed: int, distance: float, balls: list[tuple[float, float, float]], noise: float = QUIET):
    """Depth of a table with balls (x, y, radius) on it, by formula, with noise; and where the camera is."""
    T = looking_at([0.0, 0.0, 0.0], distance, elevation=0.6)
    rays = PINHOLE.rays() @ T[:3, :3].T
    depth = -T[2, 3] / rays[..., 2]
    depth[(rays[..., 2] >= 0.0) | (depth > 3.0)] = np.inf
    for x, y, radius in balls:
        off = T[:3, 3] - [x, y, radius]
        a, b = np.einsum("vui,vui->vu", rays, rays), rays @ off
        square = b * b - a * (off @ off - radius**2)
        hit = np.where(square > 0.0, (-b - np.sqrt(np.maximum(square, 0.0))) / a, depth)
        with np.errstate(invalid="ignore"):
            nearer = np.where(square > 0.0, depth - hit, 0.0)
        depth = depth - gaussian_filter(nearer, SMEAR)
    waves = gaussian_filter(np.random.default_rng(seed).normal(size=depth.shape), WAVES)
    near = np.isfinite(depth)
    sigma = np.where(near, PROMISED * np.where(near, depth, 0.0) ** 2, np.nan)
    noisy = depth + noise * np.nan_to_num(sigma) * waves / waves.std()
    return DepthMap(noisy.astype(np.float32), sigma.astype(np.float32), STEREO.left), T


def bumps_of(depth: DepthMap, T: np.ndarray):
    """What clusters find, and what bumps add."""
    voxels = voxel_grid(points_from_depth(depth, T), 0.01)
    eye = T[:3, 3]
    stays, planes = PlaneFilter().split(voxels, eye)
    assert len(planes) == 1
    view = {"up": UP, "sight": LineOfSight.of_depth(depth, T), "blur": 0.0}
    clusters, _ = find_clusters(voxels.select(stays), SETTINGS, planes=planes, eye=eye, **view)
    return clusters, find_subthreshold_objects(voxels, SETTINGS, planes=planes, clusters=clusters, **view), voxels


def test_a_small_ball_far_away_is_a_bump():
    depth, T = picture(0, 2.0, [(0.1, 0.05, 0.0205)])
    clusters, bumps, voxels = bumps_of(depth, T)
    assert clusters == ()
    ((bump, members),) = bumps
    assert bump.standing
    assert np.linalg.norm(bump.centre - [0.1, 0.05, 0.0205]) < 0.02
    assert np.abs(bump.size - 0.041).max() < 0.02
    assert np.linalg.norm(voxels.xyz[members] - bump.centre, axis=1).max() < 0.06


def test_what_clusters_find_is_not_found_again():
    depth, T = picture(1, 1.0, [(0.1, 0.05, 0.04), (-0.1, -0.05, 0.03)])
    clusters, bumps, _ = bumps_of(depth, T)
    assert len(clusters) == 2 and bumps == []


@pytest.mark.parametrize("noise", [0.2, QUIET, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("distance", [1.0, 1.5, 2.0])
def test_noise_is_no_thing(noise, distance):
    for seed in range(10):
        depth, T = picture(seed, distance, [], noise)
        clusters, bumps, _ = bumps_of(depth, T)
        assert clusters == () and bumps == []


def test_a_narrow_stripe_is_no_thing():
    """Beside a thing matchers fill columns that only one camera sees with what is in between."""
    depth, T = picture(0, 2.0, [], noise=0.0)
    z = depth.depth.copy()
    z[200:240, 300:305] -= 0.04
    _, bumps, _ = bumps_of(DepthMap(z, depth.sigma, depth.camera), T)
    assert bumps == []


def test_waves_at_the_rim_of_what_is_seen_are_no_things():
    depth, T = picture(0, 2.0, [], noise=0.0)
    z = depth.depth.copy()
    z[:, 400:] = np.inf  # the table ends
    z[200:230, 385:400] -= 0.04
    _, bumps, _ = bumps_of(DepthMap(z, depth.sigma, depth.camera), T)
    assert bumps == []


def test_bare_tables_have_none():
    depth, T = picture(0, 1.5, [], noise=0.0)
    voxels = voxel_grid(points_from_depth(depth, T), 0.01)
    sight = LineOfSight.of_depth(depth, T)
    assert find_subthreshold_objects(voxels, SETTINGS, planes=(), clusters=(), up=UP, sight=sight, blur=0.0) == []
