"""PyKDL, where a ROS installation or the system brings it."""

from __future__ import annotations

from collections.abc import Callable

import PyKDL as kdl
from problems import Array, Problem

from reference.pinocchio_route import PinocchioRoute

VERSION = kdl.__version__
NOTE = (
    "the chain is handed over link by link as Pinocchio reads it; inputs are in JntArrays beforehand; "
    "its Jacobian is in base axes"
)


def calls(problem: Problem, q: Array, qd: Array, qdd: Array) -> dict[str, Callable[[], object]]:
    """One call per quantity, on one state."""
    chain = _chain(problem)
    positions, velocities, accelerations = (_array(values) for values in (q, qd, qdd))
    n = len(q)
    forces, idle = kdl.JntArray(n), [kdl.Wrench() for _ in range(chain.getNrOfSegments())]
    gravity = kdl.Vector(0.0, 0.0, -9.81)
    rnea, parameters = kdl.ChainIdSolver_RNE(chain, gravity), kdl.ChainDynParam(chain, gravity)
    fk, jacobians = kdl.ChainFkSolverPos_recursive(chain), kdl.ChainJntToJacSolver(chain)
    frame, jacobian, mass = kdl.Frame(), kdl.Jacobian(n), kdl.JntSpaceInertiaMatrix(n)

    # The solvers point into the chain without owning it: the default argument keeps it alive.
    def inverse_dynamics(_chain: kdl.Chain = chain) -> list[float]:
        rnea.CartToJnt(positions, velocities, accelerations, idle, forces)
        return [forces[index] for index in range(n)]

    def mass_matrix() -> None:
        parameters.JntToMass(positions, mass)

    def forward() -> None:
        fk.JntToCart(positions, frame)

    def body_jacobian() -> None:
        jacobians.JntToJac(positions, jacobian)

    return {job.__name__: job for job in (inverse_dynamics, mass_matrix, forward, body_jacobian)}


def _chain(problem: Problem) -> kdl.Chain:
    route = PinocchioRoute(problem.text, problem.base, problem.tip, joint_names=problem.chain.joint_names)
    model, chain = route.model, kdl.Chain()
    bodies = problem.chain.bodies
    for index, body in enumerate(bodies):
        origin, turn = _vector(body.T_parent_body[:3, 3]), _rotation(body.T_parent_body[:3, :3])
        axis = turn * _vector(body.axis)
        kind = kdl.Joint.RotAxis if body.revolute else kdl.Joint.TransAxis
        inertia = model.inertias[index + 1]
        about_com = inertia.inertia
        rotational = kdl.RotationalInertia(
            *(about_com[r, c] for r, c in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        )
        rigid = kdl.RigidBodyInertia(inertia.mass, _vector(inertia.lever), rotational)
        chain.addSegment(kdl.Segment(kdl.Joint(body.joint, origin, axis, kind), kdl.Frame(turn, origin), rigid))
    tip = problem.chain.T_body_tip
    chain.addSegment(kdl.Segment(kdl.Joint(), kdl.Frame(_rotation(tip[:3, :3]), _vector(tip[:3, 3]))))
    return chain


def _array(values: Array) -> kdl.JntArray:
    result = kdl.JntArray(len(values))
    for index, value in enumerate(values):
        result[index] = float(value)
    return result


def _vector(values: Array) -> kdl.Vector:
    return kdl.Vector(*(float(value) for value in values))


def _rotation(matrix: Array) -> kdl.Rotation:
    return kdl.Rotation(*(float(value) for value in matrix.ravel()))
