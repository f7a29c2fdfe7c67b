"""Distances between an arm's own links, and whether a robot stands, each by a second route."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from geometry.arms import arm, configurations
from manipapy_core import Robot, kinematics
from manipapy_core.compiler import kernels_of
from manipapy_core.errors import ShapeError
from manipapy_core.reachability import MapSpec, Polygon, build_map, centre_of_mass, self_distances, statically_stable
from reference.random_robots import humanoid


def nearest_spheres(chain, body, q):
    """Least gap of two spheres over all pairs of links that come near each other, in plain NumPy."""
    poses = dict(zip(chain.link_names, kinematics.link_poses(chain, q.astype(np.float64))))
    gaps = []
    for pair in body.pairs:
        names = [body.groups[number].name for number in (pair.first, pair.second)]
        a, b = (body.link_spheres[name] for name in names)
        A, B = (rows[:, :3] @ poses[name][:3, :3].T + poses[name][:3, 3] for rows, name in zip((a, b), names))
        if pair.comes_near:
            gaps.append((np.linalg.norm(A[:, None] - B, axis=2) - a[:, None, 3] - b[:, 3]).min())
    return min(gaps)


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_distances_are_those_of_the_nearest_spheres(name):
    _, chain, body = arm(name)
    q = configurations(chain, 60)
    wanted = [nearest_spheres(chain, body, row) for row in q]
    assert np.allclose(self_distances(body, q), wanted, atol=2e-5)
    assert self_distances(body, q[0]) == pytest.approx(wanted[0], abs=2e-5)


def test_distances_are_conservative_and_close_to_the_meshes():
    """Coal's distances of the convex links, by way of Pinocchio, for the pairs that count."""
    robot, chain, body = arm("panda")
    model = pin.buildModelFromXML(robot.urdf)
    geometry = pin.buildGeomFromUrdfString(model, robot.urdf, pin.GeometryType.COLLISION)
    names = [solid.name.rsplit("_", 1)[0] for solid in geometry.geometryObjects]
    geometry.removeAllCollisionPairs()
    for pair in body.pairs:
        first, second = (body.groups[number].name for number in (pair.first, pair.second))
        for a in range(len(names)):
            for b in range(len(names)):
                if names[a] == first and names[b] == second:
                    geometry.addCollisionPair(pin.CollisionPair(min(a, b), max(a, b)))
    data, geometry_data = model.createData(), geometry.createData()
    for row in configurations(chain, 12):
        full = pin.neutral(model)
        for joint, position in zip(chain.joint_names, row):
            full[model.joints[model.getJointId(joint)].idx_q] = position
        pin.computeDistances(model, data, geometry, geometry_data, full)
        true = min(result.min_distance for result in geometry_data.distanceResults)
        told = float(self_distances(body, row))
        assert told < max(true, 0.0) + 1e-3
        if true > 0.0:
            assert told > true - 2.0 * body.overshoot - 1e-3


def test_maps_keep_the_distance_at_the_seed():
    robot, chain, body = arm("panda")
    reach = build_map(MapSpec(robot, chain.base, chain.tip, samples=60_000, resolution=0.2, tilts=9))
    some = np.random.default_rng(0).choice(len(reach.cell), 30)
    wanted = [nearest_spheres(chain, body, row) for row in reach.seed[some]]
    assert np.allclose(reach.clearance[some], wanted, atol=2e-5)
    T = kernels_of(chain).forward.run(reach.seed[some].astype(np.float64))
    told = reach.clearances(T)
    assert np.allclose(told[~np.isnan(told)], reach.clearance[some][~np.isnan(told)]) and np.isfinite(told).mean() > 0.9
    free = build_map(MapSpec(robot, chain.base, chain.tip, samples=2000, self_collision=False))
    assert np.isnan(free.clearance).all()


def test_shapes_are_checked():
    with pytest.raises(ShapeError, match="q"):
        self_distances(arm("panda")[2], np.zeros(6))
    with pytest.raises(ShapeError, match="q"):
        centre_of_mass(*arm("panda")[:2], np.zeros(6))


def test_centre_of_mass_is_that_of_pinocchio():
    robot, chain, _ = arm("panda")
    model = pin.buildModelFromXML(robot.urdf)
    data = model.createData()
    for row in configurations(chain, 10):
        full = pin.neutral(model)
        for joint, position in zip(chain.joint_names, row):
            full[model.joints[model.getJointId(joint)].idx_q] = position
        moving = pin.centerOfMass(model, data, full)
        # Pinocchio takes the base as part of the world.
        base = robot.links[chain.base].inertial
        mass, fixed = data.mass[0], base.mass * base.com
        wanted = (mass * moving + fixed) / (mass + base.mass)
        assert np.allclose(centre_of_mass(robot, chain, row), wanted, atol=1e-9)


def test_map_holds_statically_stable_configurations_only():
    case = humanoid()
    robot = Robot.from_urdf(case.text)
    chain = robot.chain(case.base, case.tip)
    middle = np.median(centre_of_mass(robot, chain, configurations(chain, 500))[:, :2], axis=0)
    foot = Polygon.rectangle(tuple(middle - 0.15), tuple(middle + 0.15))
    options = {"samples": 60_000, "block": 20_000, "self_collision": False}
    reach = build_map(MapSpec(robot, case.base, case.tip, support=foot, **options))
    every = build_map(MapSpec(robot, case.base, case.tip, **options))
    assert 0 < reach.count.sum() < 0.8 * every.count.sum()
    centres = centre_of_mass(robot, chain, reach.seed.astype(np.float64))[:, :2]
    assert (np.abs(centres - middle) <= 0.15 + 1e-6).all()
    assert statically_stable(robot, chain, foot, reach.seed[:50].astype(np.float64)).all()
