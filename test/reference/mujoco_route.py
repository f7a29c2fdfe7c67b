"""The same quantities from MuJoCo, which reads the URDF text with its own loader and its own algorithms."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from reference.rerooting import mimics, path_joints, rerooted

Array = NDArray[np.float64]


class MujocoRoute:
    """MuJoCo's answers for the mechanism seen from `base`.

    All joints stay free in the model; locked ones keep their value with zero velocity and acceleration, so that the
    rows of the free joints are the answer.
    """

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
        self.joint_names = tuple(path_joints(text, base, tip, fixed or ()) if joint_names is None else joint_names)
        self.model = mujoco.MjModel.from_xml_string(_with_compiler_options(rerooted(text, base)))
        self.model.opt.gravity[:] = np.asarray(gravity, dtype=float)
        # Joint limits and dry friction are soft constraints there; the equations of motion know neither.
        self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.data = mujoco.MjData(self.model)
        self.tip = tip
        names = [self.model.joint(index).name for index in range(self.model.njnt)]
        self.spread, self.offset = np.zeros((len(names), len(self.joint_names))), np.zeros(len(names))
        rules, locked = mimics(text), dict(fixed or {})
        for row, name in enumerate(names):
            driver, multiplier, shift = rules.get(name, (name, 1.0, 0.0))
            if driver in self.joint_names:
                self.spread[row, self.joint_names.index(driver)] = multiplier
                self.offset[row] = shift
            else:
                self.offset[row] = multiplier * locked.get(driver, 0.0) + shift

    def forward(self, q: ArrayLike, link: str | None = None) -> Array:
        """Pose of the tip, or of any other link, in the base frame, (4, 4)."""
        self._settle(q)
        body = self.data.body(self.tip if link is None else link)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = body.xmat.reshape(3, 3), body.xpos
        return pose

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Column by column: the forces of one unit acceleration, from rest, without gravity."""
        count = len(self.joint_names)
        rest = self._rigid_forces(q, np.zeros(count), np.zeros(count))
        columns = [self._rigid_forces(q, np.zeros(count), unit) - rest for unit in np.eye(count)]
        return np.stack(columns, axis=1)

    def inverse_dynamics(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, joint_friction: bool = False) -> Array:
        """Joint forces; with `joint_friction` MuJoCo's passive damping is made up for as well."""
        forces = self._rigid_forces(q, qd, qdd)
        return forces - self.spread.T @ self.data.qfrc_passive if joint_friction else forces

    def forward_dynamics(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
        """Accelerations by mj_forward, damping included; needs a robot whose every joint is free."""
        self._place(q, qd)
        self.data.qfrc_applied[:] = self.spread @ np.asarray(tau, dtype=float)
        mujoco.mj_forward(self.model, self.data)
        return self.spread.T @ self.data.qacc

    def _rigid_forces(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        self._place(q, qd)
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_fwdVelocity(self.model, self.data)
        self.data.qacc[:] = self.spread @ np.asarray(qdd, dtype=float)
        forces = np.zeros(self.model.nv)
        mujoco.mj_rne(self.model, self.data, 1, forces)
        return self.spread.T @ forces

    def _settle(self, q: ArrayLike) -> None:
        self._place(q, np.zeros(len(self.joint_names)))
        mujoco.mj_fwdPosition(self.model, self.data)

    def _place(self, q: ArrayLike, qd: ArrayLike) -> None:
        self.data.qpos[:] = self.spread @ np.asarray(q, dtype=float) + self.offset
        self.data.qvel[:] = self.spread @ np.asarray(qd, dtype=float)


def _with_compiler_options(text: str) -> str:
    # Fusing would drop the names of links behind fixed joints, and the tip is usually one of those.
    document = ElementTree.fromstring(text)
    extension = ElementTree.SubElement(document, "mujoco")
    ElementTree.SubElement(extension, "compiler", fusestatic="false")
    return ElementTree.tostring(document, encoding="unicode")
