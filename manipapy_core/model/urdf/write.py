"""Writes a robot as URDF text: what `urdf` reads comes back, numbers to the last bit but for the turns.

A rotation becomes roll, pitch and yaw and is rebuilt from them within 1e-15. Acceleration and jerk limits have no
place in a URDF, and neither has infinity: readers other than ours refuse `inf`, so `UNLIMITED` stands for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from ...lie import rotation_to_rpy
from ...typing import Array
from ..elements import BoxGeometry, CylinderGeometry, Geometry, Inertial, Joint, JointType, Link, Shape, SphereGeometry

if TYPE_CHECKING:
    from ..robot import Robot

UNLIMITED = 1e9
"""Written for a limit that there is not [SI units]: far beyond any arm, and a number for every reader."""


def urdf_text(robot: Robot) -> str:
    """The robot as a URDF document."""
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(robot.name)}>"]
    for link in robot.links.values():
        lines += _indented(_link(link))
    for joint in robot.joints.values():
        lines += _indented(_joint(joint))
    return "\n".join([*lines, "</robot>", ""])


def _link(link: Link) -> list[str]:
    inside = [] if link.inertial is None else _inertial(link.inertial)
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for shape in shapes:
            inside += _shape(tag, shape)
    return _element("link", f"name={quoteattr(link.name)}", inside)


def _inertial(inertial: Inertial) -> list[str]:
    I = inertial.inertia
    moments = " ".join(
        f'i{"xyz"[row]}{"xyz"[column]}="{_number(I[row, column])}"' for row in range(3) for column in range(row, 3)
    )
    inside = [
        f'<origin xyz="{_numbers(inertial.com)}" rpy="0 0 0"/>',
        f'<mass value="{_number(inertial.mass)}"/>',
        f"<inertia {moments}/>",
    ]
    return _element("inertial", "", inside)


def _shape(tag: str, shape: Shape) -> list[str]:
    inside = [_origin(shape.T_link_shape), f"<geometry>{_geometry(shape.geometry)}</geometry>"]
    if tag == "visual" and shape.rgba is not None:
        # The name is the colour: readers take materials of one name for the same material.
        colour = _numbers(shape.rgba)
        inside.append(f'<material name="rgba {colour}"><color rgba="{colour}"/></material>')
    return _element(tag, "" if shape.name is None else f"name={quoteattr(shape.name)}", inside)


def _geometry(geometry: Geometry) -> str:
    if isinstance(geometry, BoxGeometry):
        return f'<box size="{_numbers(geometry.size)}"/>'
    if isinstance(geometry, CylinderGeometry):
        return f'<cylinder radius="{_number(geometry.radius)}" length="{_number(geometry.length)}"/>'
    if isinstance(geometry, SphereGeometry):
        return f'<sphere radius="{_number(geometry.radius)}"/>'
    return f'<mesh filename={quoteattr(geometry.uri)} scale="{_numbers(geometry.scale)}"/>'


def _joint(joint: Joint) -> list[str]:
    inside = [
        f"<parent link={quoteattr(joint.parent)}/>",
        f"<child link={quoteattr(joint.child)}/>",
        _origin(joint.T_parent_child),
    ]
    if joint.type.moves:
        inside.append(f'<axis xyz="{_numbers(joint.axis)}"/>')
        inside += _limit(joint)
    if joint.damping or joint.friction:
        inside.append(f'<dynamics damping="{_number(joint.damping)}" friction="{_number(joint.friction)}"/>')
    if joint.mimic is not None:
        ratio, offset = _number(joint.mimic.multiplier), _number(joint.mimic.offset)
        inside.append(f'<mimic joint={quoteattr(joint.mimic.joint)} multiplier="{ratio}" offset="{offset}"/>')
    return _element("joint", f'name={quoteattr(joint.name)} type="{joint.type.value}"', inside)


def _limit(joint: Joint) -> list[str]:
    rates = {"velocity": joint.velocity, "effort": joint.effort}
    if joint.type is JointType.CONTINUOUS:
        if all(math.isinf(limit) for limit in rates.values()):
            return []
        limits = rates
    else:
        limits = {"lower": joint.lower, "upper": joint.upper, **rates}
    written = (f'{name}="{_number(min(max(limit, -UNLIMITED), UNLIMITED))}"' for name, limit in limits.items())
    return [f"<limit {' '.join(written)}/>"]


def _origin(T: Array) -> str:
    return f'<origin xyz="{_numbers(T[:3, 3])}" rpy="{_numbers(rotation_to_rpy(T[:3, :3]))}"/>'


def _element(tag: str, attributes: str, inside: list[str]) -> list[str]:
    start = f"{tag} {attributes}".rstrip()
    return [f"<{start}>", *_indented(inside), f"</{tag}>"] if inside else [f"<{start}/>"]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _numbers(values: Iterable[float]) -> str:
    return " ".join(_number(value) for value in values)


def _number(value: float) -> str:
    """The shortest decimals that read back as the same double; whole numbers without a point."""
    value = float(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
