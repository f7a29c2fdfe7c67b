"""Reads a URDF into links and joints, and lists everything that is wrong with it at once.

Why not urdf_parser_py? Version 0.0.4 was tried on broken files before this reader was written. It raises at
the first unreadable attribute (mass "heavy": `could not convert string to float`, without saying where), so
a file is repaired one error at a time; it has no line numbers; it prints unknown elements such as
`<ros2_control>` to stderr; it expands entities of a document type; and it accepts negative and NaN masses,
negative moments of inertia, zero axes, inverted and NaN limits, a revolute joint without limits, unknown
parents, duplicate link names, mimics of missing joints and missing meshes without a word. All checks would
have to be written on top of it, without the line where the mistake stands. On the package index it is source
only, and it pulls in lxml.

What is read: links with inertial, visuals and collisions, materials, and revolute, continuous, prismatic and
fixed joints with origin, axis, limit, dynamics and mimic. Elements of other tools (`<gazebo>`,
`<transmission>`, `<ros2_control>`, `<safety_controller>` ...) are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..elements import Inertial, Joint, Link
from ..meshes import MeshFinder
from .joints import read_joint
from .report import Report
from .shapes import ShapeReader, read_origin
from .tree import JointEntry, check_tree, fold_mimics, followers_freed, links_below
from .validate import inertia_problems, inertia_warnings, mass_problems, positive_inertia
from .xml import Element

_LINK_CHILDREN = ("inertial", "visual", "collision")
# Part of the largest moment below which a negative one is set to zero without a word.
_UNSEEN_MOMENT = 1e-6
_LARGEST_LINKS = 10_000
_PRODUCTS = ("ixy", "ixz", "iyz")
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(frozen=True, eq=False)
class Description:
    """Content of a URDF, checked."""

    name: str
    links: Mapping[str, Link]
    joints: Mapping[str, Joint]
    root: str
    warnings: tuple[str, ...]
    held: Mapping[str, str]
    """Joints of type `floating` or `planar`, which are held still, with their type."""


def read_robot(
    robot: Element,
    *,
    label: str,
    source: str,
    meshes: MeshFinder,
    check_meshes: bool,
    strict: bool,
    flaws: Sequence[str] = (),
) -> Description:
    """Read a URDF.

    Args:
        robot: The outermost element.
        label: Short name that starts every message, such as `arm.urdf`.
        source: Full name for the headline of an error.
        meshes: Finds mesh files.
        check_meshes: Whether a mesh that is not found is a problem, not a warning.
        strict: Whether a flaw, which other tools accept and which leaves no doubt about the robot, is a problem too.
        flaws: Those that were met before, while the text was made.

    Raises:
        ModelError: Lists every problem of the description.
    """
    report = Report(label, source, strict)
    for flaw in flaws:
        report.add_flaw(flaw)
    if robot.tag != "robot":
        report.problem(robot, "", 'is not a URDF; the outermost element must be <robot name="...">')
        report.raise_problems()
    name = robot.attributes.get("name", "").strip()
    if not name:
        name = "robot"
        report.flaw(robot, "", "attribute 'name' is missing, taken as 'robot'; write <robot name=\"my_robot\">")

    count = len(robot.children_named("link"))
    if count > _LARGEST_LINKS:
        report.problem(robot, "", f"has {count} links, more than {_LARGEST_LINKS}; split the description")
        report.raise_problems()
    shapes = ShapeReader(report, robot, meshes, check_meshes)
    links: dict[str, Link] = {}
    link_elements: dict[str, Element] = {}
    for element in robot.children_named("link"):
        link = _read_link(report, shapes, element)
        if link is not None and _is_new(report, element, link.name, link_elements):
            links[link.name], link_elements[link.name] = link, element
    joint_elements: dict[str, Element] = {}
    entries: dict[str, JointEntry] = {}
    for element in robot.children_named("joint"):
        entry = read_joint(report, element)
        if entry is not None and _is_new(report, element, entry.name, joint_elements):
            entries[entry.name], joint_elements[entry.name] = entry, element
    report.misspelt_children(robot, "", ("link", "joint", "material", "gazebo", "transmission", "ros2_control"))

    leftovers = [element for element in robot.walk() if element.tag.startswith("xacro:")]
    for leftover in leftovers:
        report.flaw(leftover, "", "was not expanded, ignored; pass xacro_args={}, or delete it")
    if leftovers and not links:
        report.problem(robot, "", "holds no links but xacro elements that were not expanded; pass xacro_args={}")
        report.raise_problems()

    root = check_tree(report, robot, link_elements, list(entries.values()))
    added = [Link(name) for name in link_elements if name not in links]
    links = {**{link.name: link for link in added}, **links}
    joints = fold_mimics(report, entries)
    for package, folder in meshes.assumed.items():
        cure = "rename the folder, or pass package_paths"
        report.warning(robot, "", f"package {package!r} was not found, its files were taken from {folder}; {cure}")
    report.raise_problems()
    used = links_below(root, joints.values())
    joints = {joint.name: joint for joint in joints.values() if joint.parent in used}
    held = {entry.name: entry.held for entry in entries.values() if entry.held and entry.name in joints}
    links = {link.name: link for link in links.values() if link.name in used}
    return Description(name, links, followers_freed(joints), root, report.warnings, held)


def _is_new(report: Report, element: Element, name: str, seen: Mapping[str, Element]) -> bool:
    if name not in seen:
        return True
    first = seen[name].line
    report.problem(element, f"{element.tag} {name!r}", f"the name is already used in line {first}; rename one of them")
    return False


def _read_link(report: Report, shapes: ShapeReader, element: Element) -> Link | None:
    name = report.text(element, "", "name", 'write <link name="...">')
    owner = f"link {name!r}" if name else f"the link in line {element.line}"
    report.misspelt_children(element, owner, _LINK_CHILDREN)
    inertial = _read_inertial(report, element, owner)
    visuals = tuple(shape for child in element.children_named("visual") for shape in shapes.read(child, owner))
    collisions = tuple(shape for child in element.children_named("collision") for shape in shapes.read(child, owner))
    return Link(name, inertial, visuals, collisions) if name else None


def _read_inertial(report: Report, link: Element, owner: str) -> Inertial | None:
    element = report.first_child(link, owner, "inertial")
    if element is None:
        return None
    if not element.children_named("mass") and not element.children_named("inertia"):
        report.flaw(element, owner, "holds neither <mass> nor <inertia>, the link is massless; write both")
        return None
    T_link_com = read_origin(report, element, owner)
    mass_element = report.only_child(element, owner, "mass", 'write <mass value="..."/> in kg, or delete <inertial>')
    mass = None if mass_element is None else report.number(mass_element, owner, "value")
    if mass is not None and mass_element is not None:
        for problem in mass_problems(mass):
            report.problem(mass_element, owner, problem)

    cure = "write <inertia ixx=... ixy=... ixz=... iyy=... iyz=... izz=.../> in kg m^2 (zeros for a point mass)"
    tensor = report.only_child(element, owner, "inertia", cure)
    if tensor is None or mass is None:
        return None
    for product in _PRODUCTS:
        if product not in tensor.attributes:
            report.flaw(tensor, owner, f'attribute {product!r} is missing, taken as 0; write {product}="0"')
            tensor.attributes[product] = "0"
    read = {moment: report.number(tensor, owner, moment) for moment in _MOMENTS}
    moments = {moment: value for moment, value in read.items() if value is not None}
    if len(moments) < len(_MOMENTS):
        return None
    problems = inertia_problems(mass, moments)
    for problem in problems:
        report.problem(tensor, owner, problem)
    if problems:
        return None
    inertia, lowest = positive_inertia(moments)
    if lowest < -_UNSEEN_MOMENT * np.abs(inertia).max():
        cure = "write more digits"
        report.flaw(tensor, owner, f"a principal moment is {lowest:.3g}, by rounding, and was taken as 0; {cure}")
    for warning in inertia_warnings(mass, moments):
        report.warning(tensor, owner, warning)
    rotation = T_link_com[:3, :3]
    in_link_axes = rotation @ inertia @ rotation.T
    return Inertial(mass, T_link_com[:3, 3], 0.5 * (in_link_axes + in_link_axes.T))
