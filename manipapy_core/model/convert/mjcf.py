"""Reads MJCF through MuJoCo's own compiler, which knows defaults, includes, frames, replicas and inertia from shapes.

MuJoCo opens the files that a model names. Before it sees the model, all names are checked by the package search, as for
every description.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import lie
from ...errors import MissingPackage, ModelError
from ...typing import Array
from ..packages import PackageSearch
from ..urdf.xml import Element, decode, parse_xml
from .mjcf_missing import without_missing_files
from .urdf_builder import UrdfBuilder, add_inertial, add_shape, number, numbers

WORLD = "world"
_LARGEST_INCLUDES = 200
_ASSET_FOLDERS = {"mesh": "meshdir", "hfield": "meshdir", "texture": "texturedir", "skin": "meshdir"}


def robot_from_mjcf(text: str, *, label: str, source: str, path: str | None, search: PackageSearch) -> UrdfBuilder:
    """The URDF of an MJCF model.

    Args:
        text: The document.
        label: Short name that starts a message.
        source: Full name for the headline of an error.
        path: The file; None for a text.
        search: Says which files may be read.

    Raises:
        ModelError: MuJoCo refuses it, or it names files that may not be read.
        MissingPackage: mujoco is not installed.
    """
    root = parse_xml(text, label, source)
    documents = _check_files(root, label, source, path, search)
    try:
        import mujoco
    except ImportError:
        raise MissingPackage("mujoco", "reading MJCF", "mjcf") from None
    name = root.attributes.get("model") or "robot"
    try:
        model = mujoco.MjModel.from_xml_string(text) if path is None else mujoco.MjModel.from_xml_path(path)
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        if not any(element.tag in ("body", "attach") for document in documents for element in document.walk()):
            reason = "has no links, it holds no <body>: a part of a model; load the file that includes it"
            raise ModelError(source, [f"{label}: {reason}"]) from None
        reason = " ".join(str(error).split())
        found = _without_missing_files(mujoco, path)
        if found is None:
            raise ModelError(source, [f"{label}: MuJoCo refuses it: {reason}; correct the file"]) from None
        model, placeholders = found
        return _Model(mujoco, model, name, path, placeholders).build()
    return _Model(mujoco, model, name, path, {}).build()


def _without_missing_files(mujoco: Any, path: str | None) -> tuple[Any, dict[str, str]] | None:
    try:
        return None if path is None else without_missing_files(mujoco, path)
    except (ValueError, RuntimeError, mujoco.FatalError):
        return None  # What MuJoCo said of the whole model is reported.


def _check_files(root: Element, label: str, source: str, path: str | None, search: PackageSearch) -> list[Element]:
    """Refuse a model that would have MuJoCo open files elsewhere; all documents that it consists of."""
    folder = None if path is None else os.path.dirname(os.path.abspath(path))
    pending, seen = [(root, label)], 0
    documents: list[tuple[Element, str]] = []
    while pending:
        document, name = pending.pop()
        documents.append((document, name))
        for element in document.walk():
            if element.tag == "include":
                seen += 1
                if seen > _LARGEST_INCLUDES:
                    raise ModelError(
                        source, [f"{name}:{element.line}: more than {_LARGEST_INCLUDES} files; merge them"]
                    )
                file = _allowed(element, folder, "", name, source, search)
                if os.path.isfile(file):
                    inner = os.path.basename(file)
                    with open(file, "rb") as opened:
                        pending.append((parse_xml(decode(opened.read(), inner, source), inner, source), inner))
    settings: dict[str, str] = {}
    for document, _ in documents:
        for element in document.children_named("compiler"):
            settings.update(element.attributes)
    for document, name in documents:
        for element in document.walk():
            below = _ASSET_FOLDERS.get(element.tag)
            if below is not None and element.attributes.get("file"):
                assets = settings.get(below, settings.get("assetdir", ""))
                _allowed(element, folder, assets, name, source, search)
    return [document for document, _ in documents]


def _allowed(element: Element, folder: str | None, below: str, name: str, source: str, search: PackageSearch) -> str:
    written = element.attributes.get("file", "")
    place = os.path.normpath(os.path.join(folder or os.getcwd(), below, written))
    if folder is None or not search.allows(place):
        raise ModelError(
            source,
            [
                f"{name}:{element.line}: <{element.tag}> reads {place}, outside the description's own tree and the "
                "packages; add its folder to package_paths"
            ],
        )
    return place


class _Model:
    """One compiled model while it is read."""

    def __init__(self, mujoco: Any, model: Any, name: str, path: str | None, placeholders: Mapping[str, str]):
        self._mujoco, self._model, self._path, self._placeholders = mujoco, model, path, placeholders
        self._urdf = UrdfBuilder(name)
        self._names: dict[int, str] = {}

    def build(self) -> UrdfBuilder:
        model = self._model
        used: set[str] = set()
        for body in range(model.nbody):
            name = WORLD if body == 0 else self._name("BODY", body) or f"body_{body}"
            while name in used:
                name += "_"
            used.add(name)
            self._names[body] = name
        mimics = self._mimics()
        links = [self._urdf.link(self._names[body]) for body in range(model.nbody)]
        for body in range(1, model.nbody):
            if model.body_mass[body] > 0.0:
                T = _pose(model.body_ipos[body], model.body_iquat[body])
                add_inertial(links[body], T, model.body_mass[body], np.diag(model.body_inertia[body]))
            self._joints(body, mimics)
        for geom in range(model.ngeom):
            self._shape(geom, links[model.geom_bodyid[geom]])
        if np.any(model.dof_armature > 0.0):
            self._urdf.flaws.append("armature (rotor inertia) has no place in a URDF and is left out of the dynamics")
        return self._urdf

    def _name(self, kind: str, index: int) -> str:
        return self._mujoco.mj_id2name(self._model, getattr(self._mujoco.mjtObj, f"mjOBJ_{kind}"), index) or ""

    def _joint_name(self, joint: int) -> str:
        return self._name("JOINT", joint) or f"{self._names[self._model.jnt_bodyid[joint]]}_joint_{joint}"

    def _joints(self, body: int, mimics: dict[int, dict[str, str | float]]) -> None:
        model, types = self._model, self._mujoco.mjtJoint
        parent, child = self._names[model.body_parentid[body]], self._names[body]
        T = _pose(model.body_pos[body], model.body_quat[body])
        first, count = model.body_jntadr[body], model.body_jntnum[body]
        if count == 0:
            self._urdf.joint(f"{child}_fixed", "fixed", parent, child, T)
        for index in range(first, first + count):
            last = index == first + count - 1
            name = self._joint_name(index)
            target = child if last else f"{name}_link"
            if not last:
                self._urdf.link(target)
            # As integers: MuJoCo's enums equal the numbers of the model only when asked from one side.
            kind = int(model.jnt_type[index])
            if kind in (int(types.mjJNT_FREE), int(types.mjJNT_BALL)):
                held = "floating" if kind == int(types.mjJNT_FREE) else "spherical"
                self._urdf.joint(name, held, parent, target, T)
            else:
                self._single(index, kind == int(types.mjJNT_HINGE), name, parent, target, T, mimics.get(index))
            parent, T = target, np.eye(4)

    def _single(
        self,
        joint: int,
        hinge: bool,
        name: str,
        parent: str,
        child: str,
        T_parent_child: Array,
        mimic: dict[str, str | float] | None,
    ) -> None:
        """A hinge or a slide; MuJoCo's joint position counts from the reference pose, a URDF's from zero."""
        model = self._model
        axis, anchor = np.array(model.jnt_axis[joint]), np.array(model.jnt_pos[joint])
        reference = float(model.qpos0[model.jnt_qposadr[joint]])
        if hinge:
            turn = lie.exp_so3(-reference * axis)
            T = T_parent_child @ lie.pose(turn, anchor - turn @ anchor)
        else:
            T = T_parent_child @ lie.pose(translation=-reference * axis)
        limited, dof = bool(model.jnt_limited[joint]), model.jnt_dofadr[joint]
        limit = {"effort": self._effort(joint), "velocity": np.inf}
        if limited:
            limit = {"lower": model.jnt_range[joint][0], "upper": model.jnt_range[joint][1], **limit}
        elif not hinge:
            limit = {"lower": -np.inf, "upper": np.inf, **limit}
        kind = "prismatic" if not hinge else "revolute" if limited else "continuous"
        dynamics = {"damping": _first(model.dof_damping[dof]), "friction": _first(model.dof_frictionloss[dof])}
        self._urdf.joint(
            name, kind, parent, child, T, axis=axis, anchor=anchor, limit=limit, mimic=mimic,
            dynamics={key: value for key, value in dynamics.items() if value > 0.0},
        )  # fmt: skip

    def _effort(self, joint: int) -> float:
        """The largest effort of the actuators on a joint; inf when nothing bounds it."""
        model, found = self._model, []
        if model.jnt_actfrclimited[joint]:
            return float(np.abs(model.jnt_actfrcrange[joint]).max())
        for actuator in range(model.nu):
            kind = int(model.actuator_trntype[actuator])
            direct = kind == int(self._mujoco.mjtTrn.mjTRN_JOINT) and model.actuator_trnid[actuator][0] == joint
            if direct and model.actuator_forcelimited[actuator]:
                gear = abs(float(model.actuator_gear[actuator][0]))
                found.append(gear * float(np.abs(model.actuator_forcerange[actuator]).max()))
        return sum(found) if found else np.inf

    def _mimics(self) -> dict[int, dict[str, str | float]]:
        """Joints that an equality ties to another by a straight line; other equalities have no place in a tree."""
        model = self._model
        mimics: dict[int, dict[str, str | float]] = {}
        for index in range(model.neq):
            first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
            tied = int(model.eq_type[index]) == int(self._mujoco.mjtEq.mjEQ_JOINT) and second >= 0
            coefficients = model.eq_data[index][:5]
            if not (tied and not np.any(coefficients[2:5]) and model.eq_active0[index]) or first in mimics:
                self._urdf.flaws.append(f"equality {index} closes a loop or is no mimic, and is left out")
                continue
            zero = [float(model.qpos0[model.jnt_qposadr[joint]]) for joint in (first, second)]
            slope = float(coefficients[1])
            offset = float(coefficients[0]) + zero[0] - slope * zero[1]
            mimics[first] = {"joint": self._joint_name(second), "multiplier": slope, "offset": offset}
        return mimics

    def _shape(self, geom: int, link: Element) -> None:
        model, types = self._model, self._mujoco.mjtGeom
        kind, size = int(model.geom_type[geom]), [float(value) for value in model.geom_size[geom]]
        T = _pose(model.geom_pos[geom], model.geom_quat[geom])
        touches = bool(model.geom_contype[geom] or model.geom_conaffinity[geom])
        if kind == int(types.mjGEOM_PLANE):
            return
        if self._name("GEOM", geom) in self._placeholders:
            geometry, attributes = "mesh", {"filename": self._placeholders[self._name("GEOM", geom)]}
        elif kind == int(types.mjGEOM_MESH):
            geometry, attributes, T = self._mesh(geom, T)
        elif kind == int(types.mjGEOM_SPHERE):
            geometry, attributes = "sphere", {"radius": number(size[0])}
        elif kind == int(types.mjGEOM_CAPSULE):
            geometry, attributes = "capsule", {"radius": number(size[0]), "length": number(2.0 * size[1])}
        elif kind == int(types.mjGEOM_CYLINDER):
            geometry, attributes = "cylinder", {"radius": number(size[0]), "length": number(2.0 * size[1])}
        elif kind in (int(types.mjGEOM_BOX), int(types.mjGEOM_ELLIPSOID)):
            geometry, attributes = "box", {"size": numbers(2.0 * value for value in size)}
        else:
            name = self._name("GEOM", geom) or geom
            self._urdf.flaws.append(f"geom {name} has a shape that a URDF cannot hold, ignored")
            return
        tags = ["collision"] if touches else ["visual"]
        # Shapes of the groups 3 and above are not shown by default.
        if touches and model.geom_group[geom] < 3:
            tags.append("visual")
        for tag in tags:
            rgba = [float(value) for value in model.geom_rgba[geom]]
            add_shape(link, tag, self._name("GEOM", geom), T, geometry, attributes, rgba)

    def _mesh(self, geom: int, T: Array) -> tuple[str, dict[str, str], Array]:
        """MuJoCo moves a mesh to its centre and axes of inertia; its file has the original one."""
        model, mesh = self._model, int(self._model.geom_dataid[geom])
        address = int(model.mesh_pathadr[mesh])
        if address < 0 or self._path is None:
            # Made of numbers in the model, not of a file: the box around it.
            centre, half = model.geom_aabb[geom][:3], model.geom_aabb[geom][3:]
            self._urdf.flaws.append(f"mesh {self._name('MESH', mesh)} has no file, the box around it is used")
            return "box", {"size": numbers(2.0 * half)}, T @ lie.pose(translation=centre)
        written = model.paths[address:].split(b"\0", 1)[0].decode("utf-8", "replace")
        file = os.path.join(os.path.dirname(os.path.abspath(self._path)), written)
        T_mesh = _pose(model.mesh_pos[mesh], model.mesh_quat[mesh])
        attributes = {"filename": file, "scale": numbers(model.mesh_scale[mesh])}
        return "mesh", attributes, T @ lie.inverse(T_mesh)


def _pose(position: Array, q_wxyz: Array) -> Array:
    """[m], shape (4, 4); MuJoCo writes quaternions with the real part first."""
    return lie.pose(lie.rotation_from_quaternion(np.roll(q_wxyz, -1)), np.array(position))


def _first(value: Any) -> float:
    return float(np.atleast_1d(value)[0])
