"""Reads a located description in whichever format it is: URDF, SDF or MJCF."""

from __future__ import annotations

from .library import LocatedText
from .meshes import MeshFinder
from .urdf.reader import Description, read_robot
from .urdf.xml import parse_xml, xml_text


def read_description(located: LocatedText, *, check_meshes: bool, strict: bool) -> tuple[Description, str]:
    """The content of a description, and its text as URDF.

    Args:
        located: The text and where it came from.
        check_meshes: Whether a mesh that is not found is a problem, not a warning.
        strict: Whether a flaw is a problem, not a warning.

    Raises:
        ModelError: Lists every problem.
        MissingPackage: MJCF without the package mujoco.
    """
    flaws, text = list(located.flaws), located.text
    if located.root in ("sdf", "gazebo"):
        # Imported late: few robots come in other formats.
        from .convert.sdf import robot_from_sdf

        urdf, report = robot_from_sdf(
            text, label=located.label, source=located.source, path=located.path, search=located.search, strict=strict
        )
        flaws += report.warnings
        robot, text = urdf.robot, xml_text(urdf.robot)
    elif located.root == "mujoco":
        from .convert.mjcf import robot_from_mjcf

        urdf = robot_from_mjcf(
            text, label=located.label, source=located.source, path=located.path, search=located.search
        )
        flaws += [f"{located.label}: {message}" for message in urdf.flaws]
        robot, text = urdf.robot, xml_text(urdf.robot)
    else:
        robot = parse_xml(text, located.label, located.source)
    description = read_robot(
        robot,
        label=located.label,
        source=located.source,
        meshes=MeshFinder(located.path, search=located.search),
        check_meshes=check_meshes,
        strict=strict,
        flaws=flaws,
    )
    return description, text
