"""Robots and objects as a MuJoCo model.

The model is written from our own description, not from the URDF file: MuJoCo's reader merges links, drops mimic joints
and adds its own rules for inertias. Contacts, limits, friction and mimic joints are constraints in MuJoCo, soft by
default; here they are as hard as the time step permits.

Joint damping D acts on the velocity at the end of the step, so that it is stable however stiff:

    (M + h D) (qd_next − qd) / h = tau − c − g − D qd + constraint forces

MuJoCo's own implicit damping solves the constraint forces with M instead of M + h D, so that a light joint moves others
that friction should hold. Here h D is the armature, which MuJoCo adds to M from the start, and its implicit damping is
off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from ...errors import MeshNotFound
from ...model.elements import (
    BoxGeometry,
    CylinderGeometry,
    Geometry,
    Joint,
    JointType,
    Link,
    MeshGeometry,
    SphereGeometry,
)
from ...model.meshes import load_mesh
from ...model.robot import Robot
from ...typing import Array
from ..engine import LINK_FRICTION
from ..errors import SceneError
from ..scene import GroundPlane, SceneObject, solid_parts

HARDNESS = 8.0
"""Time constant of all constraints, in time steps; 2 is the least that MuJoCo integrates stably."""
IMPEDANCE = (0.99, 0.9999, 1e-4, 0.5, 2.0)
"""Of contacts, from the surface to a depth of 0.1 mm: close to 1, so that hardly any penetration remains."""
RIGID = (0.9999, 0.9999, 1e-3, 0.5, 2.0)
"""Of limits, joint friction and mimic joints: the stiffest that MuJoCo has."""
COMPLIANCE = 1e-6
"""Of these constraints, relative to what RIGID leaves: mimic joints follow to nanometres."""
IMPEDANCE_RATIO = 10.0
"""Of friction to normal force: a grasped object does not creep."""
TOLERANCE, LINE_SEARCH = 1e-14, (1e-10, 200)
"""Of the solver; tolerance and most iterations of its line search. Friction this rigid is a kink of the cost that the
search must find exactly. With MuJoCo's defaults, 1e-8 and (0.01, 50), it does not, and joints that friction should hold
move."""
SMALL = 1e-12
"""Mass [kg] and inertia [kg m²] of massless links while the model is compiled, because MuJoCo's compiler wants some."""
ALL_GROUPS = 0x7FFFFFFF
TORSION_ROLLING = (0.005, 1e-4, 1e-4)
"""MuJoCo's defaults; contacts of three dimensions do not use them."""
VISUAL_GROUP = 2
GREY = (0.7, 0.7, 0.7, 1.0)


@dataclass(frozen=True, eq=False)
class RobotEntry:
    """One robot of a model."""

    robot: Robot
    T_world_base: Array
    """[m], shape (4, 4)."""


Content = Mapping[str, RobotEntry | SceneObject]
"""Robots and objects by the key of `robot_key` or `object_key`, in the order of addition."""


def robot_key(name: str) -> str:
    """Name of a robot in a model; its links, joints and shapes have it as prefix."""
    return f"robot {name}"


def object_key(name: str) -> str:
    """Name of an object's body in a model."""
    return f"object {name}"


class MeshStore:
    """Mesh files, read once, with the points of a mesh reduced to its convex hull."""

    def __init__(self) -> None:
        self._points: dict[tuple[str, tuple[float, ...]], tuple[Array, np.ndarray]] = {}

    def get(self, geometry: MeshGeometry) -> tuple[Array, np.ndarray]:
        """Points [m], shape (points, 3), and triangles, shape (triangles, 3)."""
        key = geometry.filename, tuple(geometry.scale.tolist())
        if key not in self._points:
            mesh = load_mesh(geometry.filename, geometry.scale)
            points, inverse = np.unique(mesh.points, axis=0, return_inverse=True)
            triangles = inverse.reshape(-1)[mesh.triangles]
            if np.linalg.matrix_rank(points - points.mean(axis=0), tol=1e-7) < 3:
                raise MeshNotFound(geometry.uri, "is flat, so that MuJoCo finds no volume in it; give it a thickness")
            self._points[key] = points, triangles
        return self._points[key]


class ModelBuilder:
    """Writes one model.

    Args:
        gravity: [m/s²], shape (3,).
        time_step: [s]
        meshes: Files that were read before.
        visuals: Add the visual shapes, for a window.
    """

    def __init__(self, gravity: Array, time_step: float, meshes: MeshStore, *, visuals: bool):
        self._spec, self._meshes, self._visuals = mujoco.MjSpec(), meshes, visuals
        self._spec.compiler.degree = False
        # Real descriptions have inertias that no rigid body has. They pass here and are set again after compilation.
        self._spec.compiler.balanceinertia = True
        option = self._spec.option
        option.gravity, option.timestep = gravity, time_step
        option.integrator = mujoco.mjtIntegrator.mjINT_EULER
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        option.impratio = IMPEDANCE_RATIO
        option.tolerance, (option.ls_tolerance, option.ls_iterations) = TOLERANCE, LINE_SEARCH
        option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
        self._solref = [HARDNESS * time_step, 1.0]
        self._inertias: list[tuple[str, float, Array]] = []
        self._solids: list[tuple[str, str, float, bool]] = []
        """Name, owner, friction and whether it is fixed, of all shapes that collide."""
        self._mesh_names: dict[tuple[str, tuple[float, ...]], str] = {}
        self._joints: list[str] = []
        self._robots = 0

    def build(self, content: Content) -> mujoco.MjModel:
        """Compile robots and objects."""
        for key, entry in content.items():
            if isinstance(entry, SceneObject):
                self._add_object(key, entry)
            else:
                self._add_robot(key, entry)
        self._add_pairs()
        try:
            model = self._spec.compile()
        except ValueError as error:
            raise SceneError("the MuJoCo model", [f"MuJoCo does not compile it: {error}"]) from error
        for name, mass, inertia in self._inertias:
            body = model.body(name).id
            model.body_mass[body], model.body_inertia[body] = mass, inertia
        mujoco.mj_setConst(model, mujoco.MjData(model))
        for name in self._joints:
            # The compliance of limits, joint friction and mimic joints is proportional to this.
            model.dof_invweight0[model.joint(name).dofadr[0]] *= COMPLIANCE
        return model

    # Robots.

    def _add_robot(self, key: str, entry: RobotEntry) -> None:
        robot = entry.robot
        children: dict[str, list[Joint]] = {name: [] for name in robot.links}
        for joint in robot.joints.values():
            children[joint.parent].append(joint)
        # Shapes of a robot do not touch each other: each robot has a group of its own, up to 30 robots.
        group = 1 << (1 + self._robots % 30)
        self._robots += 1
        root = self._spec.worldbody.add_body(name=f"{key}/{robot.root}", **_placed(entry.T_world_base))
        stack = [(robot.root, root, True)]
        while stack:
            name, body, fixed = stack.pop()
            self._fill_link(f"{key}/{name}", body, robot.links[name], key, group, fixed)
            for joint in reversed(children[name]):
                child = body.add_body(name=f"{key}/{joint.child}", **_placed(joint.T_parent_child))
                if joint.type.moves:
                    self._add_joint(key, child, joint)
                stack.append((joint.child, child, fixed and not joint.type.moves))
        for joint in robot.joints.values():
            if joint.mimic is not None and joint.type.moves:
                self._couple(key, joint)

    def _fill_link(self, name: str, body: mujoco.MjsBody, link: Link, key: str, group: int, fixed: bool) -> None:
        body.explicitinertial = True
        inertial = link.inertial
        mass = 0.0 if inertial is None else inertial.mass
        moments, axes = (np.zeros(3), np.eye(3)) if inertial is None else np.linalg.eigh(inertial.inertia)
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] *= -1.0
        body.mass, body.inertia = max(mass, SMALL), np.maximum(moments, SMALL)
        if inertial is not None:
            body.ipos, body.iquat = inertial.com, _quaternion(axes)
        self._inertias.append((name, mass, moments))
        for number, shape in enumerate(link.collisions):
            geom = self._add_geom(body, f"{name}#{number}", shape.geometry, shape.T_link_shape)
            geom.contype, geom.conaffinity, geom.priority = group, ALL_GROUPS ^ group, 1
            geom.density, geom.rgba = 0.0, [*GREY[:3], 0.0 if self._visuals else 1.0]
            self._make_solid(geom, f"{name}#{number}", key, LINK_FRICTION, fixed)
        for number, shape in enumerate(link.visuals if self._visuals else ()):
            geom = self._add_geom(body, f"{name}#visual {number}", shape.geometry, shape.T_link_shape)
            geom.contype = geom.conaffinity = 0
            geom.density, geom.rgba, geom.group = 0.0, shape.rgba or GREY, VISUAL_GROUP

    def _add_joint(self, key: str, body: mujoco.MjsBody, joint: Joint) -> None:
        slides = joint.type is JointType.PRISMATIC
        added = body.add_joint(
            name=f"{key}/{joint.name}",
            type=mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE,
            axis=joint.axis,
            frictionloss=joint.friction,
            limited=mujoco.mjtLimited.mjLIMITED_FALSE,
        )
        self._joints.append(f"{key}/{joint.name}")
        added.damping = [joint.damping, 0.0, 0.0] if np.size(added.damping) > 1 else joint.damping
        added.armature = self._spec.option.timestep * joint.damping
        if np.isfinite(joint.lower) and np.isfinite(joint.upper) and joint.mimic is None:
            added.limited, added.range = mujoco.mjtLimited.mjLIMITED_TRUE, [joint.lower, joint.upper]
        added.solref_limit = added.solref_friction = self._solref
        added.solimp_limit = added.solimp_friction = RIGID

    def _couple(self, key: str, joint: Joint) -> None:
        """Hold a mimic joint at its multiple of the driver, so that inertia and forces act on both."""
        assert joint.mimic is not None
        coupled = self._spec.add_equality(
            type=mujoco.mjtEq.mjEQ_JOINT,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            name1=f"{key}/{joint.name}",
            name2=f"{key}/{joint.mimic.joint}",
            solref=self._solref,
            solimp=RIGID,
        )
        coupled.data[:5] = [joint.mimic.offset, joint.mimic.multiplier, 0.0, 0.0, 0.0]

    # Objects.

    def _add_object(self, key: str, item: SceneObject) -> None:
        body = self._spec.worldbody.add_body(name=key, **_placed(item.T_world_object))
        if not item.fixed:
            body.add_freejoint(name=key)
        parts: Iterable[tuple[Geometry | None, Array]] = solid_parts(item.shape)
        if isinstance(item.shape, GroundPlane):
            parts = [(None, np.eye(4))]
        for number, (geometry, T) in enumerate(parts):
            name = f"{key}#{number}"
            geom = self._add_geom(body, name, geometry, T)
            geom.contype, geom.conaffinity, geom.rgba = 1, ALL_GROUPS, item.rgba
            if not item.fixed:
                geom.mass = item.mass
            self._make_solid(geom, name, key, item.friction, item.fixed)

    def _make_solid(self, geom: mujoco.MjsGeom, name: str, owner: str, friction: float, fixed: bool) -> None:
        geom.condim, geom.friction[0] = 3, friction
        geom.solref, geom.solimp = self._solref, IMPEDANCE
        self._solids.append((name, owner, friction, fixed))

    def _add_geom(
        self, body: mujoco.MjsBody, name: str, geometry: Geometry | None, T_body_shape: Array
    ) -> mujoco.MjsGeom:
        """Add a shape; None is a plane."""
        kinds = mujoco.mjtGeom
        geom = body.add_geom(name=name, **_placed(T_body_shape))
        if geometry is None:
            geom.type, geom.size = kinds.mjGEOM_PLANE, [0.0, 0.0, 1.0]
        elif isinstance(geometry, BoxGeometry):
            geom.type, geom.size = kinds.mjGEOM_BOX, geometry.size / 2
        elif isinstance(geometry, SphereGeometry):
            geom.type, geom.size = kinds.mjGEOM_SPHERE, [geometry.radius, 0.0, 0.0]
        elif isinstance(geometry, CylinderGeometry):
            geom.type, geom.size = kinds.mjGEOM_CYLINDER, [geometry.radius, geometry.length / 2, 0.0]
        else:
            assert isinstance(geometry, MeshGeometry)
            geom.type, geom.meshname = kinds.mjGEOM_MESH, self._mesh(geometry)
        return geom

    def _mesh(self, geometry: MeshGeometry) -> str:
        key = geometry.filename, tuple(geometry.scale.tolist())
        if key not in self._mesh_names:
            points, triangles = self._meshes.get(geometry)
            name = f"mesh {len(self._mesh_names)}"
            self._spec.add_mesh(
                name=name,
                uservert=points.ravel().tolist(),
                userface=triangles.ravel().tolist(),
                inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX,
            )
            self._mesh_names[key] = name
        return self._mesh_names[key]

    def _add_pairs(self) -> None:
        """Friction of touching surfaces as the product of theirs; by itself MuJoCo takes the larger one."""
        for number, (one, owner, friction, fixed) in enumerate(self._solids):
            for two, other, other_friction, other_fixed in self._solids[:number]:
                if owner == other or (fixed and other_fixed):
                    continue
                links = [key.startswith("robot ") for key in (owner, other)]
                taken = max(friction, other_friction) if links[0] == links[1] else LINK_FRICTION
                if abs(taken - friction * other_friction) > 1e-9:
                    self._spec.add_pair(
                        geomname1=one,
                        geomname2=two,
                        condim=3,
                        friction=[friction * other_friction] * 2 + list(TORSION_ROLLING),
                        solref=self._solref,
                        solimp=IMPEDANCE,
                    )


def _placed(T: Array) -> dict[str, Sequence[float]]:
    return {"pos": T[:3, 3].tolist(), "quat": _quaternion(T[:3, :3])}


def _quaternion(R: Array) -> list[float]:
    """In MuJoCo's order w, x, y, z; by MuJoCo, in a tenth of the time of `lie`, because a robot needs a hundred."""
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(R).ravel())
    return list(quaternion.tolist())
