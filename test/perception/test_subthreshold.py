"""Subthreshold objects: small distant objects on a noisy table are found, and noise is not."""

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
MODEL_NOISE = 0.0034
"""Standard deviation of the depth at 1 m [m], as the stereo camera of the tests has it; it grows with its square."""
NOISE_SHARE = 0.35
"""Actual noise as a share of it, as on most tables ..."""
CORRELATION = 3.0
"""... with this correlation length [pixels], as from a matcher."""
SMEAR = 3.0
"""Standard deviation of the matcher's smear [pixels]."""


def depth_image(seed: int, distance: float, balls: list[tuple[float, float, float]], noise: float = NOISE_SHARE):
    """Analytic depth of a table with balls (x, y, radius), with noise; and the camera pose."""
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
    waves = gaussian_filter(np.random.default_rng(seed).normal(size=depth.shape), CORRELATION)
    near = np.isfinite(depth)
    sigma = np.where(near, MODEL_NOISE * np.where(near, depth, 0.0) ** 2, np.nan)
    noisy = depth + noise * np.nan_to_num(sigma) * waves / waves.std()
    return DepthMap(noisy.astype(np.float32), sigma.astype(np.float32), STEREO.left), T


def detect_subthreshold(depth: DepthMap, T: np.ndarray):
    """Clusters, subthreshold objects and voxels."""
    voxels = voxel_grid(points_from_depth(depth, T), 0.01)
    viewpoint = T[:3, 3]
    stays, planes = PlaneFilter().split(voxels, viewpoint)
    assert len(planes) == 1
    view = {"up": UP, "line_of_sight": LineOfSight.of_depth(depth, T), "blur": 0.0}
    clusters, _ = find_clusters(voxels.select(stays), SETTINGS, planes=planes, viewpoint=viewpoint, **view)
    return clusters, find_subthreshold_objects(voxels, SETTINGS, planes=planes, clusters=clusters, **view), voxels


def test_distant_small_ball_is_found():
    depth, T = depth_image(0, 2.0, [(0.1, 0.05, 0.0205)])
    clusters, objects, voxels = detect_subthreshold(depth, T)
    assert clusters == ()
    ((found, members),) = objects
    assert found.standing
    assert np.linalg.norm(found.centre - [0.1, 0.05, 0.0205]) < 0.02
    assert np.abs(found.size - 0.041).max() < 0.02
    assert np.linalg.norm(voxels.xyz[members] - found.centre, axis=1).max() < 0.06


def test_clusters_are_not_found_twice():
    depth, T = depth_image(1, 1.0, [(0.1, 0.05, 0.04), (-0.1, -0.05, 0.03)])
    clusters, objects, _ = detect_subthreshold(depth, T)
    assert len(clusters) == 2 and objects == []


@pytest.mark.parametrize("noise", [0.2, NOISE_SHARE, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("distance", [1.0, 1.5, 2.0])
def test_noise_gives_no_object(noise, distance):
    for seed in range(10):
        depth, T = depth_image(seed, distance, [], noise)
        clusters, objects, _ = detect_subthreshold(depth, T)
        assert clusters == () and objects == []


def test_edge_artefact_gives_no_object():
    """Matchers fill the half-occluded columns beside an object with depths in between."""
    depth, T = depth_image(0, 2.0, [], noise=0.0)
    z = depth.depth.copy()
    z[200:240, 300:305] -= 0.04
    _, objects, _ = detect_subthreshold(DepthMap(z, depth.sigma, depth.camera), T)
    assert objects == []


def test_noise_at_plane_border_gives_no_object():
    depth, T = depth_image(0, 2.0, [], noise=0.0)
    z = depth.depth.copy()
    z[:, 400:] = np.inf  # the table ends
    z[200:230, 385:400] -= 0.04
    _, objects, _ = detect_subthreshold(DepthMap(z, depth.sigma, depth.camera), T)
    assert objects == []


def test_no_planes_give_no_subthreshold_objects():
    depth, T = depth_image(0, 1.5, [], noise=0.0)
    voxels = voxel_grid(points_from_depth(depth, T), 0.01)
    line_of_sight = LineOfSight.of_depth(depth, T)
    assert (
        find_subthreshold_objects(
            voxels, SETTINGS, planes=(), clusters=(), up=UP, line_of_sight=line_of_sight, blur=0.0
        )
        == []
    )
