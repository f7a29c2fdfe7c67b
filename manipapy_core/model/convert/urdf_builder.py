"""Builds the elements of a URDF, with the lines of the document that they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ... import lie
from ...typing import Array
from ..urdf.xml import Element

# Distance of a joint's axis from the origin of its link [m] that counts as none.
_ON_AXIS = 1e-12


class UrdfBuilder:
    """A `<robot>` element under construction."""

    def __init__(self, name: str, line: int = 1):
        self.robot = Element("robot", {"name": name}, line)
        self.flaws: list[str] = []
        """What a URDF cannot hold."""

    def link(self, name: str, line: int = 1) -> Element:
        """Add an empty link."""
        return _inside(self.robot, "link", line, name=name)

    def joint(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        T_parent_child: Array,
        *,
        axis: Array | None = None,
        anchor: Array | None = None,
        limit: Mapping[str, float] | None = None,
        dynamics: Mapping[str, float] | None = None,
        mimic: Mapping[str, str | float] | None = None,
        line: int = 1,
    ) -> None:
        """Add a joint.

        Args:
            name: Of the joint.
            kind: Its type.
            parent: Name of a link.
            child: Name of a link.
            T_parent_child: Pose at q = 0, shape (4, 4).
            axis: Unit vector in the child's frame, shape (3,).
            anchor: A point of the axis in the child's frame [m], shape (3,). The axis of a URDF passes through the
                origin of the child; elsewhere a massless link at the axis is put between.
            limit: Attributes of `<limit>`.
            dynamics: Attributes of `<dynamics>`.
            mimic: Attributes of `<mimic>`.
            line: Of the source.
        """
        direction = np.array([0.0, 0.0, 1.0]) if axis is None else np.asarray(axis)
        off = np.zeros(3) if anchor is None else np.asarray(anchor) - (anchor @ direction) * direction
        behind = child
        if kind in ("revolute", "continuous") and np.linalg.norm(off) > _ON_AXIS:
            child = f"{name}_axis"
            self.link(child, line)
            T_parent_child = T_parent_child @ lie.pose(translation=off)
        joint = _inside(self.robot, "joint", line, name=name, type=kind)
        _inside(joint, "parent", line, link=parent)
        _inside(joint, "child", line, link=child)
        _origin(joint, T_parent_child, line)
        if axis is not None:
            _inside(joint, "axis", line, xyz=numbers(direction))
        for tag, values in (("limit", limit), ("dynamics", dynamics), ("mimic", mimic)):
            if values:
                written = {key: value if isinstance(value, str) else number(value) for key, value in values.items()}
                _inside(joint, tag, line, **written)
        if child != behind:
            self.joint(f"{name}_mount", "fixed", child, behind, lie.pose(translation=-off), line=line)


def add_inertial(link: Element, T_link_com: Array, mass: float, inertia: Array, line: int = 1) -> None:
    """Give a link a mass [kg] and an inertia about its centre of mass, in the axes of T_link_com [kg m²]."""
    element = _inside(link, "inertial", line)
    _origin(element, T_link_com, line)
    _inside(element, "mass", line, value=number(mass))
    pairs = ("xx", "xy", "xz", "yy", "yz", "zz")
    values = inertia[np.triu_indices(3)]
    _inside(element, "inertia", line, **{f"i{pair}": number(value) for pair, value in zip(pairs, values)})


def add_shape(
    link: Element,
    tag: str,
    name: str,
    T_link_shape: Array,
    geometry: str,
    attributes: Mapping[str, str],
    rgba: Iterable[float] | None = None,
    line: int = 1,
) -> None:
    """Give a link a `<visual>` or `<collision>`; geometry is box, cylinder, sphere, capsule or mesh."""
    element = _inside(link, tag, line, **({"name": name} if name else {}))
    _origin(element, T_link_shape, line)
    _inside(_inside(element, "geometry", line), geometry, line, **attributes)
    if rgba is not None and tag == "visual":
        colour = numbers(min(max(value, 0.0), 1.0) for value in rgba)
        _inside(_inside(element, "material", line, name=f"rgba {colour}"), "color", line, rgba=colour)


def number(value: float) -> str:
    """A number that reads back as the same double."""
    return repr(float(value))


def numbers(values: Iterable[float]) -> str:
    """Numbers separated by spaces."""
    return " ".join(number(value) for value in values)


def _origin(element: Element, T: Array, line: int) -> None:
    if not np.array_equal(T, np.eye(4)):
        _inside(element, "origin", line, xyz=numbers(T[:3, 3]), rpy=numbers(lie.rotation_to_rpy(T[:3, :3])))


def _inside(element: Element, tag: str, line: int, **attributes: str) -> Element:
    made = Element(tag, attributes, line)
    element.add(made)
    return made
