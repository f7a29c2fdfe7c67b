"""Reads SDF: one model with links, joints, frames, nested and included models, as a URDF.

The parsers of SDF are C++ libraries without packages on PyPI. What is read is what a robot arm needs: links with
inertia and shapes, fixed, revolute, continuous, prismatic, universal and held joints, poses relative to any frame,
`<include>` by `model://` and by path, mimic axes. Sensors, plugins, lights and actors are ignored.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import numpy as np

from ... import lie
from ...typing import Array
from ..packages import PackageSearch
from ..urdf.report import Report
from ..urdf.xml import Element, decode, parse_xml
from .sdf_frames import MODEL, Frames, SdfReader, child, child_text, text_of
from .urdf_builder import UrdfBuilder, add_inertial, add_shape, number, numbers

WORLD = "world"
_LARGEST_INCLUDES = 50
_JOINT = "joint "
_UNLIMITED = 1e15
_DEFAULT_SCALE = [1.0, 1.0, 1.0]
_HELD = {"ball": "spherical", "screw": "floating", "gearbox": "floating", "revolute2": "floating"}


def robot_from_sdf(
    text: str, *, label: str, source: str, path: str | None, search: PackageSearch, strict: bool
) -> tuple[UrdfBuilder, Report]:
    """The URDF of the first model of an SDF document.

    Args:
        text: The document.
        label: Short name that starts a message.
        source: Full name for the headline of an error.
        path: The file; None for a text.
        search: Finds included models, and says which files may be read.
        strict: Whether a flaw is a problem.

    Raises:
        ModelError: Lists every problem.
    """
    root = parse_xml(text, label, source, keep_text=True)
    report = Report(label, source, strict)
    holder = next(iter(root.children_named("world")), root)
    models = holder.children_named("model")
    if not models and holder.children_named("include"):
        models = [holder]
    if not models:
        report.problem(root, "", "holds no <model>; a robot is one")
        report.raise_problems()
    if len(models) > 1:
        largest = max(models, key=lambda model: len(model.children_named("link")))
        names = ", ".join(repr(model.attributes.get("name", "")) for model in models[:20])
        report.flaw(root, "", f"holds {len(models)} models ({names}), only {largest.attributes.get('name')!r} is used")
        models = [largest]
    urdf = UrdfBuilder(models[0].attributes.get("name") or "robot", models[0].line)
    version = root.attributes.get("version", "1.0")
    folder = None if path is None else os.path.dirname(os.path.abspath(path))
    reader = _Model(urdf, report, search, source, _version(version))
    reader.read(models[0], "", np.eye(4), folder, 0)
    report.raise_problems()
    return urdf, report


def _version(text: str) -> tuple[int, ...]:
    parts = text.split(".")
    return tuple(int(part) for part in parts if part.isdigit()) or (1, 0)


class _Model:
    """Reads models into one URDF."""

    def __init__(self, urdf: UrdfBuilder, report: Report, search: PackageSearch, source: str, version: tuple[int, ...]):
        self._urdf, self._report, self._search, self._source = urdf, report, search, source
        self._version, self._reader = version, SdfReader(report)
        self._children: dict[str, str] = {}

    def read(self, model: Element, prefix: str, T_top_model: Array, folder: str | None, depth: int) -> dict[str, Array]:
        """Add the links and joints of a model; nested names get the prefix `model::`.

        Returns:
            Pose of every link and frame in the outermost model, by its name without the prefix.
        """
        if depth > _LARGEST_INCLUDES:
            self._report.problem(model, "", f"nests models more than {_LARGEST_INCLUDES} deep; break the circle")
            return {}
        frames, nested = Frames(self._reader), {}
        for link in model.children_named("link"):
            frames.add(link.attributes.get("name", ""), link, MODEL)
        for frame in model.children_named("frame"):
            frames.add(frame.attributes.get("name", ""), frame, frame.attributes.get("attached_to", "") or MODEL)
        for joint in model.children_named("joint"):
            name = joint.attributes.get("name", "")
            # Before SDF 1.7 a joint may have the name of a link.
            for key in (f"{_JOINT}{name}", *([] if name in frames else [name])):
                frames.add(key, joint, child_text(joint, "child"))
        inner: list[tuple[str, Element, str | None]] = []
        for found, name, holder, where in self._models_inside(model, folder):
            frames.add(name, holder, MODEL)
            inner.append((name, found, where))
        # Links of nested models can be named from here, `arm::tip`, so their poses come first.
        for name, found, where in inner:
            T = T_top_model @ frames.in_model(name)
            for part, T_part in self.read(found, f"{prefix}{name}::", T, where, depth + 1).items():
                nested[f"{name}::{part}"] = T_part
                frames.add(f"{name}::{part}", found, MODEL, lie.inverse(T_top_model) @ T_part, MODEL)
        poses = dict(nested)
        for link in model.children_named("link"):
            named = self._report.text(link, "", "name", 'write <link name="...">')
            if named:
                poses[named] = T_top_model @ frames.in_model(named)
                self._link(link, f"{prefix}{named}", folder)
        for frame in model.children_named("frame"):
            poses[frame.attributes.get("name", "")] = T_top_model @ frames.in_model(frame.attributes.get("name", ""))
        for joint in model.children_named("joint"):
            self._joint(joint, prefix, frames, poses, T_top_model)
        return poses

    def _models_inside(self, model: Element, folder: str | None) -> Iterator[tuple[Element, str, Element, str | None]]:
        """Nested and included models: the model, its name here, the element with its pose, its folder."""
        for inner in model.children_named("model"):
            yield inner, inner.attributes.get("name", ""), inner, folder
        for include in model.children_named("include"):
            uri = child_text(include, "uri")
            file = self._file(include, uri, folder)
            if file is None:
                continue
            label = os.path.basename(file)
            with open(file, "rb") as opened:
                root = parse_xml(decode(opened.read(), label, self._source), label, self._source, keep_text=True)
            models = root.children_named("model")
            if not models:
                self._report.flaw(include, "", f"includes {uri!r}, which holds no <model>, ignored; correct the uri")
                continue
            name = child_text(include, "name") or models[0].attributes.get("name", "")
            holder = include if child(include, "pose") is not None else models[0]
            yield models[0], name, holder, os.path.dirname(file)

    def _file(self, include: Element, uri: str, folder: str | None) -> str | None:
        places: list[str] = []
        for scheme in ("model://", "package://"):
            if uri.startswith(scheme):
                package, _, rest = uri[len(scheme) :].partition("/")
                places = [os.path.join(found.path, rest) for found in self._search.packages(package)]
        if not places and "://" not in uri and folder is not None:
            places = [os.path.join(folder, uri)]
        for place in places:
            files = [place] if os.path.isfile(place) else [os.path.join(place, name) for name in ("model.sdf",)]
            for file in map(os.path.normpath, files):
                if os.path.isfile(file) and self._search.allows(file):
                    return file
        self._report.flaw(include, "", f"includes {uri!r}, which was not found, ignored; pass package_paths")
        return None

    def _link(self, element: Element, name: str, folder: str | None) -> None:
        link = self._urdf.link(name, element.line)
        inertial = child(element, "inertial")
        if inertial is not None:
            mass = self._reader.number(inertial, "mass", 1.0)
            tensor = child(inertial, "inertia")
            moments = {
                key: self._reader.number(tensor, f"i{key}", 0.0 if key[0] != key[1] or tensor is not None else 1.0)
                for key in ("xx", "xy", "xz", "yy", "yz", "zz")
            }
            matrix = np.array([[moments["".join(sorted(a + b))] for b in "xyz"] for a in "xyz"])
            add_inertial(link, self._reader.pose(inertial), mass, matrix, inertial.line)
        for tag in ("visual", "collision"):
            for shape in element.children_named(tag):
                self._shape(link, tag, shape, folder)

    def _shape(self, link: Element, tag: str, shape: Element, folder: str | None) -> None:
        geometry = child(shape, "geometry")
        kind = None if geometry is None else next(iter(geometry.children), None)
        if kind is None or kind.tag in ("empty", "plane", "heightmap", "image", "polyline"):
            return
        read, line = self._reader, shape.line
        if kind.tag == "box":
            attributes = {"size": numbers(read.numbers(child(kind, "size"), 3, [1.0] * 3))}
        elif kind.tag in ("cylinder", "capsule"):
            attributes = {
                "radius": number(read.number(kind, "radius", 1.0)),
                "length": number(read.number(kind, "length", 1.0)),
            }
        elif kind.tag == "sphere":
            attributes = {"radius": number(read.number(kind, "radius", 1.0))}
        elif kind.tag == "ellipsoid":
            radii = read.numbers(child(kind, "radii"), 3, [1.0] * 3)
            kind, attributes = Element("box", {}, line), {"size": numbers(2.0 * radius for radius in radii)}
        elif kind.tag == "mesh":
            uri = child_text(kind, "uri")
            if "://" not in uri and folder is not None and not os.path.isabs(uri):
                uri = os.path.join(folder, uri)
            scale = read.numbers(child(kind, "scale"), 3, _DEFAULT_SCALE)
            attributes = {"filename": uri, "scale": numbers(scale)}
        else:
            self._report.flaw(kind, "", "is not a known geometry, ignored; use box, cylinder, sphere or mesh")
            return
        material = child(shape, "material")
        diffuse = None if material is None else child(material, "diffuse")
        written = text_of(diffuse).split() if diffuse is not None else []
        rgba = read.numbers(diffuse, len(written), []) if len(written) in (3, 4) else []
        name = shape.attributes.get("name", "")
        colour = [*rgba, 1.0][:4] if rgba else None
        add_shape(link, tag, name, read.pose(shape), kind.tag, attributes, colour, line)

    def _joint(self, joint: Element, prefix: str, frames: Frames, poses: dict[str, Array], T_top_model: Array) -> None:
        report, line = self._report, joint.line
        name = report.text(joint, "", "name", 'write <joint name="..." type="...">') or ""
        ends = {role: child_text(joint, role) for role in ("parent", "child")}
        for role, end in ends.items():
            if end not in poses and not (role == "parent" and end == WORLD):
                known = ", ".join(list(poses)[:30])
                report.problem(joint, f"joint {name!r}", f"{role} {end!r} does not exist; there are: {known}")
                return
        parent, moved = ends["parent"], ends["child"]
        if prefix + moved in self._children:
            other = self._children[prefix + moved]
            report.flaw(joint, f"joint {name!r}", f"closes a loop with joint {other!r}, left out; a robot is a tree")
            return
        self._children[prefix + moved] = name
        T_top_parent = np.eye(4) if parent == WORLD and parent not in poses else poses[parent]
        T_top_child, T_top_joint = poses[moved], T_top_model @ frames.in_model(f"{_JOINT}{name}")
        T_parent_child = lie.inverse(T_top_parent) @ T_top_child
        T_child_joint = lie.inverse(T_top_child) @ T_top_joint
        parent_name = WORLD if parent == WORLD and parent not in poses else f"{prefix}{parent}"
        kind = joint.attributes.get("type", "")
        axes = [axis for tag in ("axis", "axis2") if (axis := child(joint, tag)) is not None]
        if kind in _HELD or kind == "fixed" or not axes:
            held = _HELD.get(kind, "fixed")
            self._urdf.joint(f"{prefix}{name}", held, parent_name, f"{prefix}{moved}", T_parent_child, line=line)
            return
        anchor = T_child_joint[:3, 3]
        for index, axis in enumerate(axes[: 2 if kind == "universal" else 1]):
            last = index == (len(axes) - 1 if kind == "universal" else 0)
            target = f"{prefix}{moved}" if last else f"{prefix}{name}_between"
            if not last:
                self._urdf.link(target, line)
            direction = T_child_joint[:3, :3] @ self._direction(axis, frames, T_top_model, T_top_joint)
            label = f"{prefix}{name}" if index == 0 else f"{prefix}{name}_2"
            self._moving(label, kind, parent_name, target, T_parent_child, axis, direction, anchor, prefix)
            parent_name, T_parent_child = target, np.eye(4)

    def _direction(self, axis: Element, frames: Frames, T_top_model: Array, T_top_joint: Array) -> Array:
        """Unit axis in the frame of the joint."""
        xyz = child(axis, "xyz")
        vector = np.array(self._reader.numbers(xyz, 3, [0.0, 0.0, 1.0]))
        length = float(np.linalg.norm(vector))
        if length < 1e-9:
            self._report.problem(axis, "", "xyz has length 0; write the direction of motion, such as 0 0 1")
            return np.array([0.0, 0.0, 1.0])
        expressed = "" if xyz is None else xyz.attributes.get("expressed_in", "")
        in_model = child_text(axis, "use_parent_model_frame") in ("true", "1") or self._version < (1, 5)
        if expressed or in_model:
            R = (T_top_model @ frames.in_model(expressed or MODEL))[:3, :3]
            return T_top_joint[:3, :3].T @ R @ (vector / length)
        return vector / length

    def _moving(
        self, name: str, kind: str, parent: str, moved: str, T_parent_child: Array, axis: Element, direction: Array,
        anchor: Array, prefix: str,
    ) -> None:  # fmt: skip
        read, line = self._reader, axis.line
        limit, dynamics = child(axis, "limit"), child(axis, "dynamics")
        lower, upper = read.number(limit, "lower", -math.inf), read.number(limit, "upper", math.inf)
        effort, velocity = read.number(limit, "effort", -1.0), read.number(limit, "velocity", -1.0)
        endless = lower <= -_UNLIMITED and upper >= _UNLIMITED
        turns = kind != "prismatic"
        rates = {
            key: value if value >= 0.0 else math.inf for key, value in (("effort", effort), ("velocity", velocity))
        }
        ranges = {
            "lower": -math.inf if lower <= -_UNLIMITED else lower,
            "upper": math.inf if upper >= _UNLIMITED else upper,
        }
        follow = child(axis, "mimic")
        mimic: dict[str, str | float] | None = None
        if follow is not None:
            ratio = read.number(follow, "multiplier", 1.0)
            offset = read.number(follow, "offset", 0.0) - ratio * read.number(follow, "reference", 0.0)
            mimic = {"joint": prefix + follow.attributes.get("joint", ""), "multiplier": ratio, "offset": offset}
        losses = {key: read.number(dynamics, key, 0.0) for key in ("damping", "friction")}
        self._urdf.joint(
            name, ("continuous" if endless else "revolute") if turns else "prismatic", parent, moved, T_parent_child,
            axis=direction, anchor=anchor, limit=rates if turns and endless else {**ranges, **rates},
            dynamics={key: value for key, value in losses.items() if value > 0.0}, mimic=mimic, line=line,
        )  # fmt: skip
