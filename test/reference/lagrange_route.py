"""Joint forces from kinetic and potential energy: no recursion, no rerooted model, only where each link is.

Pinocchio supplies poses and Jacobians of the links in the robot's original tree; the motion relative to the chain's
base, the energies and the Lagrange equation are worked out here. The gradients are five-point differences, good to
about 1e-9.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from reference.pinocchio_route import PinocchioRoute, angular_first
from reference.rerooting import path_joints, root_link

Array = NDArray[np.float64]

STEP = 2e-3
"""Spacing of the stencil [rad or m]: truncation (1e-12) and rounding (1e-13) are both out of sight."""


class LagrangeRoute:
    """Mass matrix, gravity and joint forces of a chain whose base is held still."""

    def __init__(
        self,
        text: str,
        base: str,
        tip: str,
        *,
        joint_names: Sequence[str] | None = None,
        fixed: Mapping[str, float] | None = None,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
    ):
        names = tuple(path_joints(text, base, tip, fixed or ()) if joint_names is None else joint_names)
        self._tree = PinocchioRoute(text, root_link(text), tip, joint_names=names, fixed=fixed)
        self._bodies = _inertials(text)
        self._base = self._tree.model.getFrameId(base, pin.FrameType.BODY)
        self._gravity = np.asarray(gravity, dtype=float)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Kinetic energy is half of qd' M qd; M sums what every link adds."""
        total = np.zeros((len(self._tree.joint_names),) * 2)
        for name, (mass, com, inertia) in self._bodies.items():
            pose, jacobian = self._relative_motion(q, name)
            angular = pose[:3, :3] @ jacobian[:3]
            linear = pose[:3, :3] @ (jacobian[3:] - np.cross(com, jacobian[:3], axisb=0, axisc=0))
            turned = pose[:3, :3] @ inertia @ pose[:3, :3].T
            total += mass * linear.T @ linear + angular.T @ turned @ angular
        return total

    def potential_energy(self, q: ArrayLike) -> float:
        """[J], with gravity given in the base frame."""
        energy = 0.0
        for name, (mass, com, _) in self._bodies.items():
            pose, _ = self._relative_motion(q, name)
            energy -= mass * float(self._gravity @ (pose[:3, :3] @ com + pose[:3, 3]))
        return energy

    def gravity_forces(self, q: ArrayLike) -> Array:
        return gradient(lambda x: np.array(self.potential_energy(x)), np.asarray(q, dtype=float))

    def inverse_dynamics(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """d/dt (M qd) - grad(kinetic energy) + grad(potential energy)."""
        q, qd, qdd = (np.asarray(value, dtype=float) for value in (q, qd, qdd))
        slope = gradient(self.mass_matrix, q)  # slope[i, j, k] = dM_ij / dq_k
        momentum_change = self.mass_matrix(q) @ qdd + np.einsum("ijk,j,k->i", slope, qd, qd)
        return momentum_change - 0.5 * np.einsum("ijk,i,j->k", slope, qd, qd) + self.gravity_forces(q)

    def _relative_motion(self, q: ArrayLike, link: str) -> tuple[Array, Array]:
        """Pose of the link in the base frame, and its body Jacobian relative to the base, angular first."""
        tree = self._tree
        frame = tree.model.getFrameId(link, pin.FrameType.BODY)
        configuration = tree._q(q)
        pin.computeJointJacobians(tree.model, tree.data, configuration)
        pin.updateFramePlacements(tree.model, tree.data)
        relative = tree.data.oMf[self._base].actInv(tree.data.oMf[frame])
        local = pin.ReferenceFrame.LOCAL
        of_link = pin.getFrameJacobian(tree.model, tree.data, frame, local)
        of_base = pin.getFrameJacobian(tree.model, tree.data, self._base, local)
        difference = angular_first(of_link - relative.toActionMatrixInverse() @ of_base)
        return relative.homogeneous, difference @ tree.spread


def gradient(function: Callable[[Array], Array], q: Array) -> Array:
    """Derivative of an array-valued function by a five-point stencil; the last axis counts the coordinates."""
    columns = []
    for unit in np.eye(len(q)):
        near = function(q + STEP * unit) - function(q - STEP * unit)
        far = function(q + 2 * STEP * unit) - function(q - 2 * STEP * unit)
        columns.append((8 * near - far) / (12 * STEP))
    return np.stack(columns, axis=-1)


def _inertials(text: str) -> dict[str, tuple[float, Array, Array]]:
    """Mass, centre of mass and inertia about it in link axes, of every link that has an <inertial>."""
    found = {}
    for link in ElementTree.fromstring(text).findall("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        words = dict.fromkeys(("xyz", "rpy"), "0 0 0") | dict(getattr(inertial.find("origin"), "attrib", {}))
        com, rpy = (np.array([float(word) for word in words[key].split()]) for key in ("xyz", "rpy"))
        turn = Rotation.from_euler("xyz", rpy).as_matrix()
        given = {key: float(value) for key, value in inertial.find("inertia").attrib.items()}
        matrix = np.array([[given["i" + "".join(sorted(row + column))] for column in "xyz"] for row in "xyz"])
        mass = float(inertial.find("mass").get("value"))
        found[link.get("name")] = (mass, com, turn @ matrix @ turn.T)
    return found
