"""Answers of model_server: each function fills in the response of one service, or raises an error."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Vector3
from manipapy_msgs.srv import ComputeDynamics, ComputeFK, ComputeIK, ComputeJacobian, ComputeManipulability
from sensor_msgs.msg import JointState

from manipapy_core import dynamics, kinematics
from manipapy_core.errors import InputError, UnknownLink
from manipapy_core.model import Chain
from manipapy_core.typing import Array

from ..common.conversions import matrix_from_pose, optional_by_name, positions_by_name, stamped_pose
from ..common.robot_loader import LoadedRobot


def forward_kinematics(model: LoadedRobot, request: ComputeFK.Request, response: ComputeFK.Response) -> None:
    """Poses of links."""
    chain, state = model.chain, request.joint_state
    q = positions_by_name(state, chain.joint_names)
    if request.link_names:
        names = list(request.link_names)
        unknown = [name for name in names if name not in chain.link_names]
        if unknown:
            raise UnknownLink(unknown[0], chain.link_names)
        every_pose = kinematics.link_poses(chain, q)
        poses = [every_pose[chain.link_names.index(name)] for name in names]
    else:
        names, poses = [chain.tip], [kinematics.forward(chain, q)]
    response.link_names = names
    response.poses = [stamped_pose(T, chain.base, state) for T in poses]


def inverse_kinematics(
    model: LoadedRobot, request: ComputeIK.Request, response: ComputeIK.Response, latest: JointState | None
) -> None:
    """Joint positions for a pose.

    Args:
        latest: Current joint state; the seed when the request has none.
    """
    from manipapy_core import ik  # imported on first use: it takes time, and most users do not need it

    chain = model.chain
    T = matrix_from_pose(request.pose.pose)
    frame = request.pose.header.frame_id
    if frame and frame != chain.base:
        T = model.fixed_pose(frame) @ T
    seed_state = request.seed if len(request.seed.name) else latest
    seed = None if seed_state is None else positions_by_name(seed_state, chain.joint_names)
    options: dict[str, Any] = {"q_seed": seed, "limits": not request.ignore_limits, "timeout": request.timeout or None}
    if request.all_solutions:
        found = ik.solve(chain, T, all_solutions=True, **options)
        solutions, status, response.complete = list(found.q), found.status, found.complete
        errors = list(zip(found.position_error, found.orientation_error, strict=True))
        if not solutions and found.closest is not None:
            solutions = [found.closest.q]
            errors = [(found.closest.position_error, found.closest.orientation_error)]
    else:
        found = one = ik.solve(chain, T, **options)
        solutions, status, errors = [one.q], one.status, [(one.position_error, one.orientation_error)]
    response.solutions = [_joint_state(chain, q, request) for q in solutions]
    response.position_errors = [float(error) for error, _ in errors]
    response.orientation_errors = [float(error) for _, error in errors]
    response.status, response.success = status.value, status is ik.IKStatus.SOLVED
    if not response.success:
        missed = f"; the closest pose is {1e3 * errors[0][0]:.1f} mm and {errors[0][1]:.3f} rad away" if errors else ""
        late = "; the search ended at the time limit" if found.timed_out else ""
        response.message = f"{chain.tip} cannot reach the pose: {status.value}{missed}{late}"


def jacobian(model: LoadedRobot, request: ComputeJacobian.Request, response: ComputeJacobian.Response) -> None:
    """Twist of the tip per joint rate, and its derivative."""
    chain, state = model.chain, request.joint_state
    q = positions_by_name(state, chain.joint_names)
    derivative = None
    has_velocities = len(state.velocity) > 0
    qd = optional_by_name(state.name, state.velocity, chain.joint_names, "velocities")
    response.frame_id = chain.base
    if request.kind == ComputeJacobian.Request.SPACE:
        matrix = kinematics.space_jacobian(chain, q)
        derivative = kinematics.space_jacobian_derivative(chain, q, qd) if has_velocities else None
    elif request.kind == ComputeJacobian.Request.BODY:
        matrix, response.frame_id = kinematics.body_jacobian(chain, q), chain.tip
        derivative = kinematics.body_jacobian_derivative(chain, q, qd) if has_velocities else None
    elif request.kind == ComputeJacobian.Request.GEOMETRIC:
        matrix = geometric_jacobian(chain, q)
    else:
        raise InputError(f"kind is {request.kind}; give SPACE (0), BODY (1) or GEOMETRIC (2)")
    response.joint_names = list(chain.joint_names)
    response.jacobian = matrix.ravel().tolist()
    response.jacobian_derivative = [] if derivative is None else derivative.ravel().tolist()


def dynamic_terms(model: LoadedRobot, request: ComputeDynamics.Request, response: ComputeDynamics.Response) -> None:
    """Terms of the equation of motion."""
    chain, state = model.chain, request.joint_state
    q = positions_by_name(state, chain.joint_names)
    qd = optional_by_name(state.name, state.velocity, chain.joint_names, "velocities")
    tau = optional_by_name(state.name, state.effort, chain.joint_names, "efforts")
    qdd = optional_by_name(state.name, request.accelerations, chain.joint_names, "accelerations")
    moment, force = request.wrench_tip.torque, request.wrench_tip.force
    wrench = np.array([moment.x, moment.y, moment.z, force.x, force.y, force.z])
    given = np.array([request.gravity.x, request.gravity.y, request.gravity.z])
    gravity = given if given.any() else dynamics.GRAVITY
    com = request.payload_com
    payload = dynamics.Payload(request.payload_mass, (com.x, com.y, com.z)) if request.payload_mass else None
    options: dict[str, Any] = {"gravity": gravity, "payload": payload, "wrench_tip": wrench if wrench.any() else None}
    zeros = np.zeros(chain.n)
    response.joint_names = list(chain.joint_names)
    # Columns of M are efforts for unit accelerations, which includes the payload.
    no_gravity: dict[str, Any] = {"gravity": (0.0, 0.0, 0.0), "payload": payload}
    n = chain.n
    rest = np.zeros((n, n))
    mass = dynamics.inverse_dynamics(chain, np.tile(q, (n, 1)), rest, np.eye(n), **no_gravity).T
    response.mass_matrix = mass.ravel().tolist()
    response.coriolis = dynamics.inverse_dynamics(chain, q, qd, zeros, **no_gravity).tolist()
    held = dynamics.inverse_dynamics(chain, q, zeros, zeros, gravity=gravity, payload=payload)
    response.gravity_efforts = held.tolist()
    response.efforts = dynamics.inverse_dynamics(chain, q, qd, qdd, **options).tolist()
    response.accelerations = dynamics.forward_dynamics(chain, q, qd, tau, **options).tolist()


def manipulability(
    model: LoadedRobot, request: ComputeManipulability.Request, response: ComputeManipulability.Response
) -> None:
    """Manipulability measures, velocity ellipsoid, and distance to the position limits."""
    chain = model.chain
    q = positions_by_name(request.joint_state, chain.joint_names)
    J = geometric_jacobian(chain, q)
    response.angular, response.linear, response.full = (_volume(rows) for rows in (J[:3], J[3:], J))
    directions, lengths, _ = np.linalg.svd(J[3:])
    padded = np.zeros(3)
    padded[: len(lengths)] = lengths
    response.condition = float(padded[0] / padded[2]) if padded[2] > 0.0 else float("inf")
    response.frame_id = chain.base
    response.axis_lengths = padded
    response.axes = [Vector3(x=float(x), y=float(y), z=float(z)) for x, y, z in directions.T]
    response.tightest_joint, response.room = _tightest(chain, q)


def geometric_jacobian(chain: Chain, q: Array) -> Array:
    """Angular velocity and velocity of the tip's origin in the axes of the base, per joint rate, shape (6, n)."""
    rotation = kinematics.forward(chain, q)[:3, :3]
    body = kinematics.body_jacobian(chain, q)
    return np.concatenate([rotation @ body[:3], rotation @ body[3:]])


def _volume(rows: Array) -> float:
    """Product of the singular values; 0 with fewer columns than rows."""
    return float(np.prod(np.linalg.svd(rows, compute_uv=False))) if rows.shape[0] <= rows.shape[1] else 0.0


def _tightest(chain: Chain, q: Array) -> tuple[str, float]:
    lower, upper = chain.limits.lower, chain.limits.upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    if not bounded.any():
        return "", 1.0
    room = np.full(chain.n, np.inf)
    half = 0.5 * (upper[bounded] - lower[bounded])
    room[bounded] = np.minimum(q[bounded] - lower[bounded], upper[bounded] - q[bounded]) / half
    worst = int(np.argmin(room))
    return chain.joint_names[worst], float(np.clip(room[worst], 0.0, 1.0))


def _joint_state(chain: Chain, q: Array, request: ComputeIK.Request) -> JointState:
    message = JointState(name=list(chain.joint_names), position=[float(value) for value in q])
    message.header.stamp = request.pose.header.stamp
    return message
