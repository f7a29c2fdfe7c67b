"""Voxel grid, outliers, planes and self filter, each against a simple reference."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, kinematics
from manipapy_core.errors import InputError
from manipapy_core.geometry import RobotBody
from manipapy_core.perception import (
    JointHistory,
    NoConfiguration,
    PlaneFilter,
    PlaneSettings,
    Points,
    SelfFilter,
    Voxels,
    crop,
    inliers,
    mean_neighbour_distances,
    voxel_grid,
)

RNG = np.random.default_rng(7)


def cloud(xyz, sigma: float = 0.0) -> Points:
    xyz = np.asarray(xyz, dtype=np.float32)
    return Points(xyz, np.full(xyz.shape[:-1], sigma, np.float32))


def voxels(xyz, sigma: float = 0.002) -> Voxels:
    xyz = np.asarray(xyz, dtype=np.float32)
    return Voxels(xyz, np.full(len(xyz), sigma, np.float32), np.ones(len(xyz), np.int32), 0.01)


@pytest.mark.parametrize("count", [0, 1, 500, 60_000])
@pytest.mark.parametrize("cell", [0.01, 0.05])
def test_voxel_means_equal_those_by_sorting(count, cell):
    xyz = RNG.uniform(-0.6, 0.6, (count, 3)).astype(np.float32)
    found = voxel_grid(cloud(xyz, 0.25), cell)
    keys, inverse, counts = np.unique(
        np.floor(xyz.astype(np.float64) * (1.0 / cell)), axis=0, return_inverse=True, return_counts=True
    )
    means = np.stack([np.bincount(inverse.ravel(), xyz[:, k], len(keys)) for k in range(3)], axis=1)
    means = means / np.maximum(counts, 1)[:, None]
    order = np.lexsort(np.floor(found.xyz.astype(np.float64) / cell).T[::-1])
    assert len(found) == len(keys)
    assert found.counts.sum() == count
    matched = found.xyz[order]
    # Means near a cell's wall may round across it: compare as sets of rows.
    np.testing.assert_allclose(matched[np.lexsort(matched.T)], means[np.lexsort(means.astype(np.float32).T)], atol=1e-6)
    assert found.sigma == pytest.approx(np.full(len(keys), 0.25))


def test_voxels_drop_invalid_and_cropped_points():
    xyz = RNG.uniform(-1, 1, (40, 50, 3)).astype(np.float32)
    xyz[:5] = np.nan
    xyz[5, 0] = [np.inf, 0, 0]
    xyz[6, 0] = [1e30, 0, 0]
    lower, upper = (-0.5, -np.inf, -0.2), (0.5, np.inf, 0.9)
    found = voxel_grid(cloud(xyz), 0.02, lower=lower, upper=upper)
    with np.errstate(invalid="ignore"):
        inside = np.all((xyz >= lower) & (xyz <= upper), axis=-1)
    assert found.counts.sum() == inside.sum()
    assert np.count_nonzero(np.isfinite(crop(cloud(xyz), lower, upper).xyz[..., 0])) == inside.sum()
    assert len(crop(cloud(xyz[inside]), lower, upper).xyz) == inside.sum()
    busy = voxel_grid(cloud(xyz), 0.3, min_points=5)
    assert busy.counts.min() >= 5


def test_invalid_voxel_arguments_are_rejected():
    with pytest.raises(InputError, match="cell size"):
        voxel_grid(cloud(np.zeros((3, 3))), 0.0)
    with pytest.raises(InputError, match="NaN"):
        voxel_grid(cloud(np.zeros((3, 3))), 0.01, lower=(np.nan, 0, 0))
    with pytest.raises(InputError, match="upper"):
        voxel_grid(cloud(np.zeros((3, 3))), 0.01, upper=(1.0, 2.0))


def test_neighbour_distances_equal_those_of_a_kd_tree():
    spatial = pytest.importorskip("scipy.spatial", reason="the reference is SciPy's tree")
    points = RNG.uniform(0, 0.4, (1500, 3))
    distances, _ = spatial.cKDTree(points).query(points, k=9)
    expected = np.minimum(distances[:, 1:], 0.05).mean(axis=1)
    np.testing.assert_allclose(mean_neighbour_distances(points, 8, 0.05), expected, rtol=1e-9)


def test_outliers_are_removed():
    surface = np.column_stack([RNG.uniform(0, 0.2, (800, 2)), np.zeros(800)])
    far = RNG.uniform(0.5, 2.0, (10, 3))
    kept = inliers(np.concatenate([surface, far]))
    assert not kept[800:].any()
    assert kept[:800].mean() > 0.97
    assert inliers(np.empty((0, 3))).shape == (0,)


def table_with_box(tilt: float = 0.05):
    """A tilted noisy table with a box and a leg, and the table normal."""
    on_table = np.column_stack([RNG.uniform(-0.5, 0.5, (4000, 2)), RNG.normal(0.0, 0.002, 4000)])
    box = RNG.uniform([0.1, 0.1, 0.03], [0.2, 0.2, 0.12], (400, 3))
    leg = RNG.uniform([0.4, 0.4, -0.6], [0.45, 0.45, -0.05], (200, 3))
    R = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
    return np.concatenate([on_table, box, leg]) @ R.T + [0.3, 0.0, 0.8], R[:, 2]


def test_table_is_removed_and_remembered():
    xyz, normal = table_with_box()
    planes = PlaneFilter()
    stays, (plane,) = planes.split(voxels(xyz), viewpoint=[1.0, 0.0, 2.0])
    assert plane.normal == pytest.approx(normal, abs=0.003)
    assert plane.heights(xyz[:4000]) == pytest.approx(np.zeros(4000), abs=0.012)
    assert not stays[:4000].any() and stays[4000:4400].all()
    assert not stays[4400:].any()  # its leg
    assert not plane.remembered
    _, (again,) = planes.split(voxels(xyz + np.array([0.0, 0.0, 0.004])), viewpoint=[1.0, 0.0, 2.0])
    assert again.remembered
    assert again.offset == pytest.approx(plane.offset + 0.004 * plane.normal[2], abs=1e-3)
    planes.reset()
    assert not planes.split(voxels(xyz), viewpoint=[1.0, 0.0, 2.0])[1][0].remembered
    # A removed table is not found again.
    assert planes.split(voxels(xyz[4000:4400]), viewpoint=[1.0, 0.0, 2.0])[1] == ()


def test_top_faces_of_objects_are_no_table():
    """Four boxes of one height on a table without texture: below their top faces there are their sides."""
    rng = np.random.default_rng(8)
    parts = []
    for x in (-0.3, -0.1, 0.1, 0.3):
        top = np.column_stack([rng.uniform(-0.06, 0.06, (120, 2)), np.full(120, 0.1)])
        side = np.column_stack([np.full(80, 0.06), rng.uniform(-0.06, 0.06, 80), rng.uniform(0.0, 0.1, 80)])
        parts += [part + np.array([x, 0.0, 0.0]) for part in (top, side)]
    objects = np.concatenate(parts)
    stays, found = PlaneFilter().split(voxels(objects), viewpoint=[1.5, 0.0, 1.0])
    assert found == () and stays.all()
    table = np.column_stack([rng.uniform(-0.6, 0.6, (3000, 2)), np.zeros(3000)])
    stays, (plane,) = PlaneFilter().split(voxels(np.concatenate([objects, table])), viewpoint=[1.5, 0.0, 1.0])
    assert plane.offset == pytest.approx(0.0, abs=0.002) and stays[: len(objects)].mean() > 0.8


def test_plane_through_small_objects_is_no_table():
    """Five balls on a table without depth: a plane through all of them would remove them."""
    rng = np.random.default_rng(3)
    out = rng.normal(size=(5, 90, 3))
    balls = 0.022 * out / np.linalg.norm(out, axis=-1, keepdims=True)
    balls[..., 2] = np.abs(balls[..., 2])  # visible from above
    middles = np.column_stack([rng.uniform(-0.5, 0.5, (5, 2)), np.full(5, 0.022)])
    objects = (balls + middles[:, None]).reshape(-1, 3)
    noisy = Voxels(
        objects.astype(np.float32), np.full(len(objects), 0.012, np.float32), np.ones(len(objects), np.int32), 0.01
    )
    stays, found = PlaneFilter().split(noisy, viewpoint=[1.5, 0.0, 1.2])
    assert found == () and stays.all()


def test_noisy_table_is_a_table():
    """Also at a distance, where the noise is many times the threshold."""
    rng = np.random.default_rng(4)
    viewpoint, sigma = np.array([2.0, 0.0, 1.5]), np.full(4000, 0.03, np.float32)
    flat = np.column_stack([rng.uniform(-0.6, 0.6, (4000, 2)), np.zeros(4000)])
    line_of_sight = (flat - viewpoint) / np.linalg.norm(flat - viewpoint, axis=1, keepdims=True)
    xyz = (flat + rng.normal(0.0, 0.03, (4000, 1)) * line_of_sight).astype(np.float32)
    stays, (plane,) = PlaneFilter().split(Voxels(xyz, sigma, np.ones(4000, np.int32), 0.01), viewpoint=viewpoint)
    assert plane.offset == pytest.approx(0.0, abs=0.003) and stays.mean() < 0.05


def test_walls_are_removed_only_if_allowed():
    wall = np.column_stack([np.full(2000, 0.5), RNG.uniform(-0.5, 0.5, (2000, 2))])
    stays, found = PlaneFilter().split(voxels(wall), viewpoint=[0.0, 0.0, 0.0])
    assert stays.all() and found == ()
    stays, found = PlaneFilter(PlaneSettings(max_tilt=np.pi / 2)).split(voxels(wall), viewpoint=[0.0, 0.0, 0.0])
    assert len(found) == 1 and not stays.any()


def test_floor_and_table_are_two_planes():
    table = np.column_stack([RNG.uniform(0, 0.6, (3000, 2)), np.full(3000, 0.7)])
    floor = np.column_stack([RNG.uniform(0.8, 2.0, (3000, 2)), np.zeros(3000)])
    box = RNG.uniform([1.2, 1.2, 0.05], [1.4, 1.4, 0.4], (500, 3))
    stays, found = PlaneFilter().split(voxels(np.concatenate([table, floor, box])), viewpoint=[0.5, -1.0, 2.0])
    assert sorted(round(plane.offset, 3) for plane in found) == [0.0, 0.7]
    assert not stays[:6000].any() and stays[6000:].all()


@pytest.fixture(scope="module")
def ur5():
    robot = Robot.from_urdf("ur5")
    return RobotBody.build(robot, robot.tree())


def test_self_filter_removes_points_in_padded_spheres(ur5):
    q = np.array([0.4, -1.3, 1.6, -1.9, -1.57, 0.3])
    points = RNG.uniform([-0.6, -0.6, 0.0], [0.9, 0.6, 1.0], (3000, 3)).astype(np.float32)
    kept = SelfFilter(ur5, padding=0.03, deviations=0.0).outside(voxels(points), q, [2.0, 0.0, 1.0])
    poses = dict(zip(ur5.chain.link_names, kinematics.link_poses(ur5.chain, q)))
    nearest = np.full(len(points), np.inf)
    for link, spheres in ur5.link_spheres.items():
        centres = spheres[:, :3] @ poses[link][:3, :3].T + poses[link][:3, 3]
        gap = np.linalg.norm(points[:, None] - centres, axis=-1) - spheres[:, 3]
        nearest = np.minimum(nearest, gap.min(axis=1))
    np.testing.assert_array_equal(kept, nearest > 0.03 + 0.005)
    assert 0.02 < np.mean(~kept) < 0.9


def test_self_filter_tolerance_is_along_the_line_of_sight(ur5):
    q = np.zeros(6)
    tip = SelfFilter(ur5).spheres_at(q)[:, :3].mean(axis=0)
    viewpoint = tip + np.array([0.0, 1.0, 0.0])
    reach = np.array([np.linalg.norm(s[:3] - tip) + s[3] for s in SelfFilter(ur5).spheres_at(q)]).max()
    behind, beside = tip - np.array([0.0, reach + 0.1, 0.0]), tip + np.array([0.0, 0.0, reach + 0.1])
    unsure = SelfFilter(ur5, padding=0.0, deviations=3.0).outside(voxels([behind, beside], 0.3), q, viewpoint)
    sure = SelfFilter(ur5, padding=0.0, deviations=3.0).outside(voxels([behind, beside], 1e-4), q, viewpoint)
    assert sure.all()
    assert unsure.tolist() == [False, True]


def test_joint_positions_are_interpolated():
    history = JointHistory(tolerance=0.02)
    with pytest.raises(NoConfiguration, match="driver"):
        history.at(0)
    for step in range(11):
        history.add(step * 10_000_000, [0.1 * step, -0.2 * step])
    assert history.at(55_000_000) == pytest.approx([0.55, -1.1])
    assert history.at(-5_000_000) == pytest.approx([0.0, 0.0])
    assert history.at(110_000_000) == pytest.approx([1.0, -2.0])
    for late in (200_000_000, -50_000_000):
        with pytest.raises(NoConfiguration, match=r"100 ms|50 ms"):
            history.at(late)
    history.add(0, [5.0, 5.0])  # the simulation was restarted
    assert history.at(0) == pytest.approx([5.0, 5.0])
    with pytest.raises(InputError, match="finite"):
        history.add(1, [np.nan, 0.0])
