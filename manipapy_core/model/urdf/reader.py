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

from collections.abc import Mapping
from dataclasses import dataclass

from ..elements import Inertial, Joint, Link
from ..meshes import MeshFinder
from .joints import read_joint
from .report import Report
from .shapes import ShapeReader, read_origin
from .tree import JointEntry, check_tree, fold_mimics
from .validate import inertia_problems, inertia_tensor, inertia_warnings, mass_problems
from .xml import Element, parse_xml

_LINK_CHILDREN = ("inertial", "visual", "collision")
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(frozen=True, eq=False)
class Description:
    """Content of a URDF, checked."""

    name: str
    links: Mapping[str, Link]
    joints: Mapping[str, Joint]
    root: str
    warnings: tuple[str, ...]


def read_urdf(text: str, *, label: str, source: str, meshes: MeshFinder, check_meshes: bool) -> Description:
    """Read a URDF text.

    Args:
        text: The document.
        label: Short name that starts every message, such as `arm.urdf`.
        source: Full name for the headline of an error.
        meshes: Finds mesh files.
        check_meshes: Whether a mesh that is not found is a problem, not a warning.

    Raises:
        ModelError: Lists every problem of the description.
    """
    robot = parse_xml(text, label, source)
    report = Report(label, source)
    if robot.tag != "robot":
        report.problem(robot, "", 'is not a URDF; the outermost element must be <robot name="...">')
        report.raise_problems()
    name = report.text(robot, "", "name", 'write <robot name="my_robot">') or ""

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

    root = check_tree(report, robot, link_elements, list(entries.values()))
    joints = fold_mimics(report, entries)
    report.raise_problems()
    return Description(name, links, joints, root, report.warnings)


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
    visuals = tuple(shapes.read(child, owner) for child in element.children_named("visual"))
    collisions = tuple(shapes.read(child, owner) for child in element.children_named("collision"))
    return Link(name, inertial, visuals, collisions) if name else None


def _read_inertial(report: Report, link: Element, owner: str) -> Inertial | None:
    element = report.only_child(link, owner, "inertial")
    if element is None:
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
    read = {moment: report.number(tensor, owner, moment) for moment in _MOMENTS}
    moments = {moment: value for moment, value in read.items() if value is not None}
    if len(moments) < len(_MOMENTS):
        return None
    problems = inertia_problems(moments)
    for problem in problems:
        report.problem(tensor, owner, problem)
    if problems:
        return None
    for warning in inertia_warnings(mass, moments):
        report.warning(tensor, owner, warning)
    rotation = T_link_com[:3, :3]
    in_link_axes = rotation @ inertia_tensor(moments) @ rotation.T
    return Inertial(mass, T_link_com[:3, 3], 0.5 * (in_link_axes + in_link_axes.T))
