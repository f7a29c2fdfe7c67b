"""`URDFModifier`: changed copies of a description, with ManipulaPy's names.

Intended differences from ManipulaPy: `offset_joint_zero` keeps the range that the joint moves in, so its limits move
the other way; `scale_masses` scales the inertia with the mass; a payload is joined at the common centre of mass.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike

from .. import lie
from ..errors import InputError, UnknownJoint, UnknownLink
from ..model import Inertial, Joint, JointType, Link, Robot
from ..model.urdf.write import urdf_text
from ..typing import Array
from .inputs import shaped
from .urdf_document import URDF

CALIBRATED = ("x", "y", "z", "roll", "pitch", "yaw", "offset")
"""Corrections of a joint: of its origin [m and rad], and of its zero [rad or m]."""


class URDFModifier:
    """Changes a copy of a description; every method returns the modifier, so calls can be chained.

    Args:
        urdf: The description, which stays as it is.
    """

    def __init__(self, urdf: URDF):
        self._model, self._source = urdf.model, urdf.source

    @property
    def urdf(self) -> URDF:
        """The description with all changes."""
        return URDF(self._model, self._source)

    def set_joint_origin(
        self, joint_name: str, xyz: ArrayLike | None = None, rpy: ArrayLike | None = None
    ) -> URDFModifier:
        """Sets position [m] and roll, pitch, yaw [rad] of a joint in its parent link; what is not given stays."""
        T = np.array(self._joint(joint_name).T_parent_child)
        if xyz is not None:
            T[:3, 3] = shaped(xyz, (3,), "xyz")
        if rpy is not None:
            T[:3, :3] = lie.rotation_from_rpy(shaped(rpy, (3,), "rpy"))
        return self._with_joint(joint_name, T_parent_child=T)

    def set_joint_axis(self, joint_name: str, axis: ArrayLike) -> URDFModifier:
        """Sets the axis of a joint in its own frame, of any length above 0."""
        direction = shaped(axis, (3,), "axis")
        length = float(np.linalg.norm(direction))
        if not length > 0.0:
            raise InputError("axis is zero; give the direction of the joint")
        return self._with_joint(joint_name, axis=direction / length)

    def set_joint_limits(
        self,
        joint_name: str,
        lower: float | None = None,
        upper: float | None = None,
        velocity: float | None = None,
        effort: float | None = None,
    ) -> URDFModifier:
        """Sets limits of position, velocity and effort; what is not given stays."""
        given = {"lower": lower, "upper": upper, "velocity": velocity, "effort": effort}
        values: dict[str, Any] = {name: float(value) for name, value in given.items() if value is not None}
        joint = replace(self._joint(joint_name), **values)
        if not joint.lower <= joint.upper or not joint.velocity >= 0.0 or not joint.effort >= 0.0:
            raise InputError(f"limits of {joint_name!r} would be {values}; give lower ≤ upper, and no negative ones")
        return self._with_joint(joint_name, **values)

    def offset_joint_zero(self, joint_name: str, offset: float) -> URDFModifier:
        """Moves the zero of a joint to where it stands at `offset` now [rad or m]."""
        joint, T = self._joint(joint_name), np.eye(4)
        if joint.type is JointType.PRISMATIC:
            T[:3, 3] = offset * joint.axis
        else:
            T[:3, :3] = lie.exp_so3(offset * joint.axis)
        return self._with_joint(
            joint_name,
            T_parent_child=joint.T_parent_child @ T,
            lower=joint.lower - offset,
            upper=joint.upper - offset,
        )

    def apply_calibration(self, calibration: Mapping[str, Mapping[str, float]]) -> URDFModifier:
        """Corrects origins and zeros of joints.

        Args:
            calibration: By joint: corrections x, y, z [m] and roll, pitch, yaw [rad] of its origin, in the frame of the
                parent and of the joint, and `offset` of its zero [rad or m].
        """
        for name, values in calibration.items():
            unknown = set(values) - set(CALIBRATED)
            if unknown:
                raise InputError(f"calibration of {name!r} has {sorted(unknown)}; known are {', '.join(CALIBRATED)}")
            T = np.array(self._joint(name).T_parent_child)
            T[:3, 3] += [float(values.get(key, 0.0)) for key in CALIBRATED[:3]]
            T[:3, :3] = T[:3, :3] @ lie.rotation_from_rpy([float(values.get(key, 0.0)) for key in CALIBRATED[3:6]])
            self._with_joint(name, T_parent_child=T).offset_joint_zero(name, float(values.get("offset", 0.0)))
        return self

    def set_link_mass(self, link_name: str, mass: float) -> URDFModifier:
        """Sets the mass [kg]; the inertia stays."""
        if not (np.isfinite(mass) and mass >= 0.0):
            raise InputError(f"mass is {mass!r}; give kilograms, 0 or more")
        return self._with_inertial(link_name, mass=float(mass))

    def set_link_inertia(self, link_name: str, inertia: ArrayLike) -> URDFModifier:
        """Sets the inertia about the centre of mass, in link axes [kg m²], shape (3, 3)."""
        return self._with_inertial(link_name, inertia=shaped(inertia, (3, 3), "inertia"))

    def set_link_com(self, link_name: str, com: ArrayLike) -> URDFModifier:
        """Sets the centre of mass in the link frame [m], shape (3,)."""
        return self._with_inertial(link_name, com=shaped(com, (3,), "com"))

    def scale_masses(self, scale: float, link_names: Iterable[str] | None = None) -> URDFModifier:
        """Multiplies mass and inertia of links; of all if no names are given."""
        if not (np.isfinite(scale) and scale > 0.0):
            raise InputError(f"scale is {scale!r}; give a number above 0")
        names = [name for name, link in self._model.links.items() if link.inertial is not None]
        for name in names if link_names is None else link_names:
            body = self._inertial(name)
            self._with_inertial(name, mass=scale * body.mass, inertia=scale * body.inertia)
        return self

    def add_payload(
        self, link_name: str, mass: float, com: ArrayLike | None = None, inertia: ArrayLike | None = None
    ) -> URDFModifier:
        """Fixes a body to a link.

        Args:
            mass: [kg]
            com: Its centre of mass in the link frame [m]; the origin if not given.
            inertia: About its centre of mass, in link axes [kg m²]; a point if not given.
        """
        if not (np.isfinite(mass) and mass > 0.0):
            raise InputError(f"mass is {mass!r}; give kilograms, above 0")
        body = self._inertial(link_name)
        place = np.zeros(3) if com is None else shaped(com, (3,), "com")
        own = np.zeros((3, 3)) if inertia is None else shaped(inertia, (3, 3), "inertia")
        total = body.mass + mass
        centre = (body.mass * body.com + mass * place) / total
        joined = body.inertia + _steiner(body.mass, body.com - centre) + own + _steiner(mass, place - centre)
        return self._with_inertial(link_name, mass=total, com=centre, inertia=joined)

    def remove_link_inertial(self, link_name: str) -> URDFModifier:
        """Makes a link massless."""
        return self._with_link(replace(self._link(link_name), inertial=None))

    def rename_joint(self, old_name: str, new_name: str) -> URDFModifier:
        """Gives a joint another name, also where others mimic it."""
        self._joint(old_name)
        self._require_new(new_name, self._model.joints)
        names = {old_name: new_name}
        joints = {}
        for name, joint in self._model.joints.items():
            mimic = joint.mimic
            if mimic is not None and mimic.joint == old_name:
                mimic = replace(mimic, joint=new_name)
            joints[names.get(name, name)] = replace(joint, name=names.get(name, name), mimic=mimic)
        limits = {names.get(name, name): value for name, value in self._model.motion_limits.items()}
        held = {names.get(name, name): value for name, value in self._model.held_joints.items()}
        return self._changed(joints=joints, motion_limits=limits, held_joints=held)

    def rename_link(self, old_name: str, new_name: str) -> URDFModifier:
        """Gives a link another name, also in the joints that it belongs to."""
        self._link(old_name)
        self._require_new(new_name, self._model.links)
        names = {old_name: new_name}
        links = {names.get(n, n): replace(link, name=names.get(n, n)) for n, link in self._model.links.items()}
        joints = {
            name: replace(
                joint, parent=names.get(joint.parent, joint.parent), child=names.get(joint.child, joint.child)
            )
            for name, joint in self._model.joints.items()
        }
        return self._changed(links=links, joints=joints, root=names.get(self._model.root, self._model.root))

    def to_urdf_string(self) -> str:
        """The description as XML."""
        return urdf_text(self._model)

    def save(self, filename: str | os.PathLike[str]) -> None:
        """Writes the description to a file."""
        Path(filename).write_text(self.to_urdf_string(), encoding="utf-8")

    def _joint(self, name: str) -> Joint:
        if name not in self._model.joints:
            raise UnknownJoint(name, list(self._model.joints))
        return self._model.joints[name]

    def _link(self, name: str) -> Link:
        if name not in self._model.links:
            raise UnknownLink(name, list(self._model.links))
        return self._model.links[name]

    def _inertial(self, name: str) -> Inertial:
        return self._link(name).inertial or Inertial(0.0, np.zeros(3), np.zeros((3, 3)))

    @staticmethod
    def _require_new(name: str, present: Mapping[str, Any]) -> None:
        if not name or name in present:
            raise InputError(f"the name {name!r} is empty or taken; choose another")

    def _with_joint(self, name: str, **values: Any) -> URDFModifier:
        joint = replace(self._joint(name), **values)
        return self._changed(joints={**self._model.joints, name: joint})

    def _with_inertial(self, name: str, **values: Any) -> URDFModifier:
        return self._with_link(replace(self._link(name), inertial=replace(self._inertial(name), **values)))

    def _with_link(self, link: Link) -> URDFModifier:
        return self._changed(links={**self._model.links, link.name: link})

    def _changed(self, **values: Any) -> URDFModifier:
        changed: Robot = replace(self._model, **values)
        self._model = replace(changed, urdf=urdf_text(changed))
        return self


def load_calibration(filename: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Reads what `apply_calibration` takes from a YAML or JSON file."""
    found = yaml.safe_load(Path(filename).read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not all(isinstance(values, dict) for values in found.values()):
        raise InputError(f"{os.fspath(filename)!r} is no calibration; write joint: {{x: 0.001, offset: 0.02}}")
    return {str(name): {str(key): float(value) for key, value in values.items()} for name, values in found.items()}


def save_calibration(calibration: Mapping[str, Mapping[str, float]], filename: str | os.PathLike[str]) -> None:
    """Writes a calibration as YAML."""
    plain = {name: {key: float(value) for key, value in values.items()} for name, values in calibration.items()}
    Path(filename).write_text(yaml.safe_dump(plain), encoding="utf-8")


def _steiner(mass: float, offset: Array) -> Array:
    """Inertia of a point mass about an axis system at a distance [kg m²]."""
    return mass * (float(offset @ offset) * np.eye(3) - np.outer(offset, offset))
