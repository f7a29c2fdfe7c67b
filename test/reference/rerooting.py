"""Rewrites URDF text so that any link becomes the root: what "the base is fixed" means, said in URDF.

A joint passed from child to parent turns the other way about the same axis. Its new child frame is the old joint
frame; the old parent hangs behind it on a fixed joint, so that every link keeps its own frame and every joint its
own coordinate.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterator, Sequence

from reference.urdf_writing import numbers

_DETAILS_KEPT = ("axis", "limit", "dynamics", "mimic")


def without_shapes(text: str) -> str:
    """The same robot without visual and collision elements, whose meshes the references need not find."""
    document = ElementTree.fromstring(text)
    for element in document.findall("link"):
        for tag in ("visual", "collision"):
            for shape in element.findall(tag):
                element.remove(shape)
    return ElementTree.tostring(document, encoding="unicode")


def root_link(text: str) -> str:
    """Name of the link that is no joint's child."""
    document = ElementTree.fromstring(text)
    children = {_link_of(joint, "child") for joint in document.findall("joint")}
    return next(link.get("name", "") for link in document.findall("link") if link.get("name") not in children)


def link_names(text: str) -> list[str]:
    """All links, in file order."""
    return [link.get("name", "") for link in ElementTree.fromstring(text).findall("link")]


def rerooted(text: str, base: str) -> str:
    """URDF text of the same mechanism with `base` as its root link."""
    document = ElementTree.fromstring(without_shapes(text))
    if root_link(text) == base:
        return ElementTree.tostring(document, encoding="unicode")
    result = ElementTree.Element("robot", name=document.get("name", "") + "_rerooted")
    result.extend(document.findall("link"))
    climbed = set()
    for joint in _joints_up_to_root(document, base):
        climbed.add(joint)
        _append_reversed(result, joint)
    result.extend(joint for joint in document.findall("joint") if joint not in climbed)
    return ElementTree.tostring(result, encoding="unicode")


def path_joints(text: str, base: str, tip: str, locked: Collection[str] = ()) -> list[str]:
    """What moves the tip against the base: the joints on the way, each mimicking joint replaced by its driver.

    In the order in which the way from base to tip first meets them, without those that are locked.
    """
    document, drivers = ElementTree.fromstring(rerooted(text, base)), mimics(text)
    on_the_way = [joint.get("name", "") for joint in _joints_up_to_root(document, tip) if joint.get("type") != "fixed"]
    moved_by = dict.fromkeys(drivers.get(name, (name,))[0] for name in reversed(on_the_way))
    return [name for name in moved_by if name not in locked]


def mimics(text: str) -> dict[str, tuple[str, float, float]]:
    """Per mimicking joint its driver, multiplier and offset."""
    found = {}
    for joint in ElementTree.fromstring(text).findall("joint"):
        rule = joint.find("mimic")
        if rule is not None:
            factors = float(rule.get("multiplier", "1")), float(rule.get("offset", "0"))
            found[joint.get("name", "")] = (rule.get("joint", ""), *factors)
    return found


def _joints_up_to_root(document: ElementTree.Element, link: str) -> Iterator[ElementTree.Element]:
    parent_joint = {_link_of(joint, "child"): joint for joint in document.findall("joint")}
    while link in parent_joint:
        joint = parent_joint[link]
        yield joint
        link = _link_of(joint, "parent")


def _append_reversed(result: ElementTree.Element, joint: ElementTree.Element) -> None:
    name, child = joint.get("name", ""), _link_of(joint, "child")
    if joint.get("type") == "fixed":
        _append_inverse_origin(result, joint, child)
        return
    moved = f"{name}__moved"
    ElementTree.SubElement(result, "link", name=moved)
    turned = _append_joint(result, name, joint.get("type", ""), child, moved)
    for detail in joint:
        if detail.tag in _DETAILS_KEPT:
            turned.append(detail)
    axis = turned.find("axis")
    if axis is None:
        axis = ElementTree.SubElement(turned, "axis", xyz="1 0 0")
    axis.set("xyz", numbers([-float(word) for word in axis.get("xyz", "1 0 0").split()]))
    _append_inverse_origin(result, joint, moved)


def _append_inverse_origin(result: ElementTree.Element, joint: ElementTree.Element, start: str) -> None:
    """Fixed joints from `start` to the joint's old parent.

    (translate Rz Ry Rx)^-1 = Rx^-1 Ry^-1 Rz^-1 translate^-1, one fixed joint each: extracting angles from an inverted
    matrix would lose half the digits near a pitch of 90 degrees, which is where UR arms put it.
    """
    xyz, (roll, pitch, yaw) = _origin(joint)
    steps = ((roll, 0.0, 0.0), (0.0, pitch, 0.0), (0.0, 0.0, yaw))
    name = joint.get("name", "")
    for axis_name, angles in zip("xyz", steps, strict=True):
        bend = f"{name}__back_{axis_name}"
        ElementTree.SubElement(result, "link", name=bend)
        _append_joint(result, f"{bend}__joint", "fixed", start, bend, rpy=[-angle for angle in angles])
        start = bend
    _append_joint(
        result, f"{name}__back", "fixed", start, _link_of(joint, "parent"), xyz=[-distance for distance in xyz]
    )


def _append_joint(
    result: ElementTree.Element,
    name: str,
    kind: str,
    parent: str,
    child: str,
    xyz: Sequence[float] = (0.0, 0.0, 0.0),
    rpy: Sequence[float] = (0.0, 0.0, 0.0),
) -> ElementTree.Element:
    joint = ElementTree.SubElement(result, "joint", name=name, type=kind)
    ElementTree.SubElement(joint, "parent", link=parent)
    ElementTree.SubElement(joint, "child", link=child)
    ElementTree.SubElement(joint, "origin", xyz=numbers(xyz), rpy=numbers(rpy))
    return joint


def _origin(element: ElementTree.Element) -> tuple[list[float], list[float]]:
    origin = element.find("origin")
    if origin is None:
        return [0.0] * 3, [0.0] * 3
    xyz = [float(word) for word in origin.get("xyz", "0 0 0").split()]
    return xyz, [float(word) for word in origin.get("rpy", "0 0 0").split()]


def _link_of(joint: ElementTree.Element, end: str) -> str:
    element = joint.find(end)
    return "" if element is None else element.get("link", "")
