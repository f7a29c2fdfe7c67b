"""Reads the shapes of links: visuals, collisions, their geometry and colours."""

from __future__ import annotations

import numpy as np

from ...errors import MeshNotFound
from ...typing import Array
from ..elements import (
    RGBA,
    BoxGeometry,
    CylinderGeometry,
    Geometry,
    MeshGeometry,
    Shape,
    SphereGeometry,
    capsule,
    transform_from_xyz_rpy,
)
from ..meshes import MeshFinder
from .report import Report
from .xml import Element

_GEOMETRIES = ("box", "cylinder", "sphere", "mesh", "capsule")
_IDENTITY = np.eye(4)
# Stands in for a geometry that could not be read; the problem is reported, so it never reaches a user.
_UNREADABLE = SphereGeometry(0.0)


def read_origin(report: Report, element: Element, owner: str) -> Array:
    """Pose written in the `<origin>` child, identity when there is none; shape (4, 4)."""
    origin = report.only_child(element, owner, "origin")
    if origin is None:
        return _IDENTITY
    xyz = report.vector(origin, owner, "xyz", (0.0, 0.0, 0.0))
    rpy = report.vector(origin, owner, "rpy", (0.0, 0.0, 0.0))
    return _IDENTITY if xyz is None or rpy is None else transform_from_xyz_rpy(xyz, rpy)


class ShapeReader:
    """Reads the shapes of one description; remembers its materials and the meshes already looked for."""

    def __init__(self, report: Report, robot: Element, meshes: MeshFinder, check_meshes: bool):
        """Read the materials of a description.

        Args:
            report: Takes the problems.
            robot: The `<robot>` element, whose materials are collected first.
            meshes: Finds mesh files.
            check_meshes: Whether a mesh that is not found is a problem, not a warning.
        """
        self._report, self._meshes, self._check_meshes = report, meshes, check_meshes
        self._mesh_files: dict[str, str] = {}
        self._colours: dict[str, RGBA | None] = {}
        self._own_colour: dict[int, RGBA | None] = {}
        for material in robot.children_named("material"):
            self._define_material(material)
        # A material may also be defined inside a visual and used by name elsewhere.
        for link in robot.children_named("link"):
            for visual in link.children_named("visual"):
                for material in visual.children_named("material"):
                    self._define_material(material)

    def read(self, element: Element, owner: str) -> list[Shape]:
        """The shape of a `<visual>` or `<collision>` element; a capsule is three.

        Args:
            element: The element.
            owner: Its link, as messages call it.
        """
        report = self._report
        name = element.attributes.get("name") or None
        T_link_shape = read_origin(report, element, owner)
        cure = f"write one of {_listed(_GEOMETRIES)} inside <geometry>, or delete the <{element.tag}>"
        geometry = report.only_child(element, owner, "geometry", cure)
        shape = _UNREADABLE if geometry is None else self._read_geometry(geometry, owner)
        material = report.first_child(element, owner, "material") if element.tag == "visual" else None
        colour = None if material is None else self._colour(material, owner)
        if isinstance(shape, tuple):
            return capsule(name, T_link_shape, *shape, colour)
        return [Shape(name, T_link_shape, shape, colour)]

    def _read_geometry(self, element: Element, owner: str) -> Geometry | tuple[float, float]:
        """The geometry; of a capsule its radius and the length of its cylinder."""
        report = self._report
        shapes = [child for child in element.children if child.tag in _GEOMETRIES] or element.children
        if not shapes:
            report.problem(element, owner, f"holds 0 shapes; write exactly one of {_listed(_GEOMETRIES)}")
            return _UNREADABLE
        if len(element.children) > 1:
            cure = f"write exactly one of {_listed(_GEOMETRIES)}"
            report.flaw(element, owner, f"holds {len(element.children)} shapes, <{shapes[0].tag}> counts; {cure}")
        shape = shapes[0]
        if shape.tag == "box":
            size = report.vector(shape, owner, "size", None)
            return (
                _UNREADABLE
                if size is None or not self._sizes_are_usable(shape, owner, size=min(size))
                else BoxGeometry(np.array(size))
            )
        if shape.tag in ("cylinder", "capsule"):
            radius = report.finite(shape, owner, "radius")
            length = report.finite(shape, owner, "length")
            if radius is None or length is None:
                return _UNREADABLE
            usable = self._sizes_are_usable(shape, owner, radius=radius, length=length)
            if not usable:
                return _UNREADABLE
            return CylinderGeometry(radius, length) if shape.tag == "cylinder" else (radius, length)
        if shape.tag == "sphere":
            radius = report.finite(shape, owner, "radius")
            if radius is None or not self._sizes_are_usable(shape, owner, radius=radius):
                return _UNREADABLE
            return SphereGeometry(radius)
        if shape.tag == "mesh":
            return self._read_mesh(shape, owner)
        report.problem(shape, owner, f"is not a known geometry; use {_listed(_GEOMETRIES)}")
        return _UNREADABLE

    def _sizes_are_usable(self, element: Element, owner: str, **sizes: float) -> bool:
        for name, size in sizes.items():
            if size < 0.0:
                self._report.problem(element, owner, f"{name} is {size:g}; write a positive length in m")
            elif size == 0.0:
                self._report.warning(
                    element, owner, f"{name} is 0, nothing will be seen or touched; write a length in m"
                )
        return min(sizes.values()) >= 0.0

    def _read_mesh(self, element: Element, owner: str) -> Geometry:
        report = self._report
        written = element.attributes.get("scale", "")
        if len(written.split()) == 1:
            report.flaw(element, owner, f"scale is {written!r}, taken for all three axes; write 3 numbers")
            element.attributes["scale"] = f"{written} {written} {written}"
        scale = report.vector(element, owner, "scale", (1.0, 1.0, 1.0))
        uri = report.text(element, owner, "filename", "write the mesh file, such as package://my_arm/meshes/hand.stl")
        if scale is None or uri is None:
            return _UNREADABLE
        if 0.0 in scale:
            report.problem(element, owner, f"scale is {element.attributes['scale']!r}; no factor may be 0")
        if uri not in self._mesh_files:
            # One message per file, at its first use: the same mesh is often both seen and touched.
            try:
                self._mesh_files[uri] = self._meshes.find(uri)
            except MeshNotFound as error:
                self._mesh_files[uri] = ""
                note = report.problem if self._check_meshes else report.warning
                note(element, owner, f"{error}; kinematics and dynamics do without it")
        return MeshGeometry(self._mesh_files[uri], uri, np.array(scale))

    def _define_material(self, material: Element) -> None:
        owner = f"material {material.attributes.get('name', '')!r}"
        colour = self._report.only_child(material, owner, "color")
        rgba = None if colour is None else self._read_rgba(colour, owner)
        self._own_colour[id(material)] = rgba
        name = material.attributes.get("name", "")
        if name and (colour is not None or material.children_named("texture")):
            self._colours.setdefault(name, rgba)

    def _read_rgba(self, element: Element, owner: str) -> RGBA | None:
        values = self._report.vector(element, owner, "rgba", None, count=4)
        if values is None:
            return None
        if min(values) < 0.0 or max(values) > 1.0:
            written = element.attributes["rgba"]
            self._report.warning(element, owner, f"rgba is {written!r} and was cut off; each must be in 0..1")
        red, green, blue, opacity = (min(max(value, 0.0), 1.0) for value in values)
        return red, green, blue, opacity

    def _colour(self, material: Element, owner: str) -> RGBA | None:
        rgba = self._own_colour[id(material)]
        if rgba is not None or material.children:
            return rgba
        name = material.attributes.get("name", "")
        if name not in self._colours:
            cure = f'add <material name="{name}"><color rgba="..."/></material> under <robot>'
            self._report.warning(material, owner, f"material {name!r} is not defined, the colour is left open; {cure}")
        return self._colours.get(name)


def _listed(tags: tuple[str, ...]) -> str:
    return ", ".join(f"<{tag}>" for tag in tags)
