"""Cartesian impedance: springs and dampers along the axes of the tip, and damping of null-space motion.

`lie` has the same logarithm for batches of any shape, but takes some hundred microseconds for one pose. Here code that
branches works on plain floats; the rest is straight-line code that runs on floats and on traced symbols.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...compiler import Input, Mechanism, compile_formula, mechanism_of
from ...compiler.algorithms import kinematics as algorithms
from ...compiler.algorithms.ldl import dot, gram, solve, with_ridge
from ...compiler.spatial import matvec
from ...model.chain import Chain
from ...typing import Array
from ..state import Reference, State
from .default_gains import typical_joint_inertia, typical_tip_inertia
from .law import Gain, GainShape, Law

Numbers = Sequence[float]


def rotation_vector(R: Numbers) -> tuple[float, float, float]:
    """Axis times angle [rad] of a rotation matrix, angle in [0, π].

    By the quaternion, whose largest component is computed first: as exact near 0 as near π.

    Args:
        R: Nine numbers, row by row.
    """
    xx, yy, zz = R[0], R[4], R[8]
    if xx + yy + zz > 0.0:
        w, x, y, z = 1.0 + xx + yy + zz, R[7] - R[5], R[2] - R[6], R[3] - R[1]
    elif xx >= yy and xx >= zz:
        w, x, y, z = R[7] - R[5], 1.0 + xx - yy - zz, R[1] + R[3], R[2] + R[6]
    elif yy >= zz:
        w, x, y, z = R[2] - R[6], R[1] + R[3], 1.0 - xx + yy - zz, R[5] + R[7]
    else:
        w, x, y, z = R[3] - R[1], R[2] + R[6], R[5] + R[7], 1.0 - xx - yy + zz
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    length = math.sqrt(x * x + y * y + z * z)
    # The four numbers are a multiple of the quaternion; only their ratio counts.
    factor = 2.0 * math.atan2(length, w) / length if length > 1e-12 * w else 2.0 / w
    return factor * x, factor * y, factor * z


def curvature(r: Numbers) -> float:
    """c of J⁻¹ = 1 − ½ [r] + c [r]², the inverse left Jacobian of SO(3) at a rotation vector."""
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    if square < 1e-6:
        return 1.0 / 12.0 + square / 720.0
    half = 0.5 * math.sqrt(square)
    return (1.0 - half / math.tan(half)) / square


def spring_wrench(r: Sequence[Any], c: Any, p: Sequence[Any], stiffness: Sequence[Any]) -> list[Any]:
    """Wrench of the springs on the tip, in the tip frame, moment first [N m, N]; over any scalar.

    The springs store ½ rᵀ K_r r + ½ pᵀ K_p p. The wrench is the exact gradient of that energy, so it is conservative
    even when the stiffness differs between axes: r changes by J⁻¹ times the angular velocity, which makes the
    moment J⁻ᵀ K_r r, and the springs along the axes of the tip turn with it, which adds p × K_p p.

    Args:
        r: Rotation vector from the tip to its goal [rad].
        c: Its `curvature`.
        p: Position of the goal in the tip frame [m].
        stiffness: Six numbers, angular first [N m/rad, N/m].
    """
    k, f = [stiffness[i] * r[i] for i in range(3)], [stiffness[3 + i] * p[i] for i in range(3)]
    first = _cross(r, k)
    second = _cross(r, first)
    lever = _cross(p, f)
    # J⁻ᵀ = 1 + ½ [r] + c [r]²
    moment = [k[i] + 0.5 * first[i] + c * second[i] + lever[i] for i in range(3)]
    return [*moment, *f]


def _cross(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


REGULARISATION = 1e-6
"""Of J Jᵀ, relative to its mean diagonal: near a singularity a tip direction gradually counts as null-space motion."""


def null_damping(n: int, J: Sequence[Any], qd: Sequence[Any], root: Sequence[Any]) -> list[Any]:
    """B^½ (1 − Aᵀ (A Aᵀ + ε)⁻¹ A) B^½ qd with A = J B^−½: straight-line code over any scalar.

    The matrix before qd is symmetric and positive semidefinite, so the torque only dissipates energy; a projection that
    is not symmetric could add some.

    Args:
        J: Body Jacobian, 6×n row by row.
        qd: Joint velocities, n numbers.
        root: Square roots of the joint inertias B, n numbers.
    """
    A = [[J[n * r + j] / root[j] for j in range(n)] for r in range(6)]
    y = [root[j] * qd[j] for j in range(n)]
    x = solve(with_ridge(gram(A), REGULARISATION), [dot(row, y) for row in A])
    remaining = [y[j] - dot([row[j] for row in A], x) for j in range(n)]
    return [root[j] * remaining[j] for j in range(n)]


ANGULAR_FREQUENCY, LINEAR_FREQUENCY = 60.0, 20.0
"""Natural frequencies of the default springs about and along the axes of the tip [rad/s]; wrists are light."""
MAX_STIFFNESS = np.array([100.0] * 3 + [2000.0] * 3)
"""Largest default stiffness [N m/rad, N/m]."""
POSE_ERROR_SIZE = 12
"""Numbers of a pose error: R_tip_goal row by row, then the goal's position in the tip frame."""


class CartesianImpedance(Law):
    """tau = M qdd_ref + C qd_ref + g + J_bodyᵀ (springs + dampers) − null damping.

    The springs pull the tip to the pose of the reference; stiffness and damping are along and about the axes of the
    tip, angular first. Null-space motion (of a seventh joint) is damped separately. Passive, as the joint impedance.
    """

    name = "cartesian_impedance"
    GAINS = (
        Gain("stiffness", GainShape.TWIST, "N m/rad, N/m", "of the springs along the axes of the tip"),
        Gain("damping", GainShape.TWIST, "N m s/rad, N s/m", "of the motion of the tip"),
        Gain("null_damping", GainShape.SCALAR, "1/s", "rate at which null-space motion decays"),
    )
    stiff = False
    cartesian = True

    def _prepare(self) -> None:
        n, chain = self.chain.n, self.chain
        null_rate = float(self.gains["null_damping"])
        root = np.sqrt(typical_joint_inertia(chain, null_rate))
        self._constants = (self.gains["stiffness"], self.gains["damping"], root, np.array([null_rate]))
        self._geometry_kernel: Any = _geometry_kernel(chain)
        self._effort_kernel: Any = _effort_kernel(n)
        self._geometry = np.zeros(POSE_ERROR_SIZE + 12 * n)
        self._turn, self._model_tau = np.zeros(4), np.zeros(n)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        inertia = typical_tip_inertia(chain, 2.0 * ANGULAR_FREQUENCY, 2.0 * LINEAR_FREQUENCY)
        stiffness = np.minimum(np.repeat([ANGULAR_FREQUENCY**2, LINEAR_FREQUENCY**2], 3) * inertia, MAX_STIFFNESS)
        return {"stiffness": stiffness, "damping": 2.0 * np.sqrt(stiffness * inertia), "null_damping": 5.0}

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        q, qd, geometry, turn, tau = state.q, state.qd, self._geometry, self._turn, self._tau
        fine = self._geometry_kernel(q, reference.q, geometry)
        if fine:
            r = rotation_vector(geometry[:9].tolist())
            turn[0], turn[1], turn[2] = r
            turn[3] = curvature(r)
            self.model.passive_dynamics(q, qd, reference.qd, reference.qdd, self._model_tau)
            fine = self._effort_kernel(geometry, turn, qd, reference.qd, self._model_tau, *self._constants, tau)
        if not fine:
            tau.fill(math.nan)
        return tau


def geometry_of_tip(mechanism: Mechanism, q: Any, q_ref: Any) -> list[Any]:
    """Pose error and both body Jacobians: 12 + 6n + 6n numbers, over any scalar."""
    tip, goal = algorithms.forward(mechanism, q), algorithms.forward(mechanism, q_ref)

    def in_tip_frame(vector: Sequence[Any]) -> list[Any]:
        return [tip[i] * vector[0] + tip[4 + i] * vector[1] + tip[8 + i] * vector[2] for i in range(3)]

    columns = [in_tip_frame([goal[j], goal[4 + j], goal[8 + j]]) for j in range(3)]
    R = [columns[j][i] for i in range(3) for j in range(3)]
    p = in_tip_frame([goal[3] - tip[3], goal[7] - tip[7], goal[11] - tip[11]])
    return [*R, *p, *algorithms.body_jacobian(mechanism, q), *algorithms.body_jacobian(mechanism, q_ref)]


def impedance_effort(
    n: int,
    geometry: Sequence[Any],
    turn: Sequence[Any],
    qd: Sequence[Any],
    qd_ref: Sequence[Any],
    model_tau: Sequence[Any],
    stiffness: Sequence[Any],
    damping: Sequence[Any],
    root: Sequence[Any],
    null_rate: Sequence[Any],
) -> list[Any]:
    """Joint efforts of springs, dampers, null damping and the model: n numbers, over any scalar.

    Args:
        geometry: Result of `geometry_of_tip`.
        turn: Rotation vector of the pose error, and its curvature.
        root: Square roots of the joint inertias that weight null-space motion.
    """
    R, p = geometry[:9], geometry[9:POSE_ERROR_SIZE]
    J = [geometry[POSE_ERROR_SIZE + n * r : POSE_ERROR_SIZE + n * (r + 1)] for r in range(6)]
    J_goal = [geometry[POSE_ERROR_SIZE + 6 * n + n * r : POSE_ERROR_SIZE + 6 * n + n * (r + 1)] for r in range(6)]
    twist, goal = [dot(row, qd) for row in J], [dot(row, qd_ref) for row in J_goal]
    desired = [*matvec(R, goal[:3]), *matvec(R, goal[3:])]
    wrench = spring_wrench(turn[:3], turn[3], p, stiffness)
    wrench = [wrench[i] + damping[i] * (desired[i] - twist[i]) for i in range(6)]
    slip = [reference - actual for reference, actual in zip(qd_ref, qd)]
    damped = null_damping(n, [entry for row in J for entry in row], slip, root)
    return [
        model_tau[j] + dot([row[j] for row in J], wrench) + null_rate[0] * damped[j] for j in range(n)
    ]  # fmt: skip


def _geometry_kernel(chain: Chain) -> Any:
    mechanism = mechanism_of(chain)
    inputs = [Input("q", (mechanism.n,), angle=True), Input("q_ref", (mechanism.n,), angle=True)]
    formula = functools.partial(geometry_of_tip, mechanism)
    return compile_formula("geometry_of_tip", inputs, (POSE_ERROR_SIZE + 12 * mechanism.n,), formula)


@functools.cache
def _effort_kernel(n: int) -> Any:
    widths = {
        "geometry": POSE_ERROR_SIZE + 12 * n,
        "turn": 4,
        "qd": n,
        "qd_ref": n,
        "model_tau": n,
        "stiffness": 6,
        "damping": 6,
        "root": n,
        "null_rate": 1,
    }
    inputs = [Input(name, (width,)) for name, width in widths.items()]
    return compile_formula(f"impedance_effort_{n}", inputs, (n,), functools.partial(impedance_effort, n))
