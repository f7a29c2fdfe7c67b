"""MuJoCo's rigid-body functions, called from Python one configuration at a time."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
from problems import Array, Problem

from reference.mujoco_route import MujocoRoute

VERSION = mujoco.__version__
NOTE = (
    "only the stages a quantity needs (kinematics, comPos, comVel, rne), inputs copied into mjData; "
    "the mass matrix stays in its sparse form; forward dynamics is mj_forward without constraints"
)


def calls(problem: Problem, q: Array, qd: Array, qdd: Array) -> dict[str, Callable[[], object]]:
    """One call per quantity, on one state."""
    route = MujocoRoute(problem.text, problem.base, problem.tip, joint_names=problem.chain.joint_names)
    model, data = route.model, route.data
    full_q, full_v, full_a = route.spread @ q + route.offset, route.spread @ qd, route.spread @ qdd
    qpos, qvel, qacc, applied = data.qpos, data.qvel, data.qacc, data.qfrc_applied
    body = data.body(problem.tip).id
    forces, linear, angular = np.zeros(model.nv), np.zeros((3, model.nv)), np.zeros((3, model.nv))
    kinematics, com_pos, com_vel, rne = mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_comVel, mujoco.mj_rne
    composite = getattr(mujoco, "mj_makeM", None) or mujoco.mj_crb
    step, jacobian = mujoco.mj_forward, mujoco.mj_jacBody

    def inverse_dynamics() -> Array:
        qpos[:], qvel[:], qacc[:] = full_q, full_v, full_a
        kinematics(model, data)
        com_pos(model, data)
        com_vel(model, data)
        rne(model, data, 1, forces)
        return route.spread.T @ forces

    def forward_dynamics() -> None:
        qpos[:], qvel[:], applied[:] = full_q, full_v, full_a
        step(model, data)

    def mass_matrix() -> None:
        qpos[:] = full_q
        kinematics(model, data)
        com_pos(model, data)
        composite(model, data)

    def forward() -> None:
        qpos[:] = full_q
        kinematics(model, data)

    def body_jacobian() -> None:
        qpos[:] = full_q
        kinematics(model, data)
        com_pos(model, data)
        jacobian(model, data, linear, angular, body)

    return {job.__name__: job for job in (inverse_dynamics, forward_dynamics, mass_matrix, forward, body_jacobian)}
