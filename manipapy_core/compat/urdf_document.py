"""`URDF`: a robot description with ManipulaPy's names, and the models that follow from it.

Intended difference from ManipulaPy: one reader for every file, the one of `Robot`, which lists every problem of a
description; the arm is found as `URDFToSerialManipulator` finds it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from .. import draw, lie
from ..errors import UnknownJoint, UnknownLink
from ..model import Chain, Joint, Link, Robot
from ..typing import Array
from .arm import serial_arm
from .dynamics import ManipulatorDynamics
from .kinematics import SerialManipulator
from .urdf_processor import URDFToSerialManipulator
from .urdf_view import URDFView
from .utils import extract_r_list

WORLD = "world"


class URDF(URDFView):
    """A robot description.

    Args:
        model: The robot.
        source: Path, bundled name or XML text that it was read from.
    """

    def __init__(self, model: Robot, source: str | os.PathLike[str]):
        super().__init__(model)
        self.source = source

    @classmethod
    def load(
        cls,
        filename: str | os.PathLike[str],
        load_meshes: bool = False,
        mesh_dir: str | os.PathLike[str] | None = None,
        backend: str = "builtin",
    ) -> URDF:
        """Reads a file, or a bundled robot by its name.

        Args:
            load_meshes: Whether meshes must be found.
            mesh_dir: Where `package://` references may lead.
            backend: No effect.
        """
        folders = () if mesh_dir is None else (mesh_dir,)
        return cls(Robot.from_urdf(filename, check_meshes=load_meshes, package_paths=folders), filename)

    @classmethod
    def from_xml_string(cls, xml_string: str, base_path: str | os.PathLike[str] | None = None) -> URDF:
        """Reads an XML text.

        Args:
            base_path: Folder from which relative references start.
        """
        folders = () if base_path is None else (base_path,)
        return cls(Robot.from_urdf(xml_string, check_meshes=False, package_paths=folders), xml_string)

    def copy(self) -> URDF:
        """Another object for the same description, which never changes."""
        return URDF(self.model, self.source)

    def get_link(self, name: str) -> Link:
        """The link of this name."""
        if name not in self.model.links:
            raise UnknownLink(name, list(self.model.links))
        return self.model.links[name]

    def get_joint(self, name: str) -> Joint:
        """The joint of this name."""
        if name not in self.model.joints:
            raise UnknownJoint(name, list(self.model.joints))
        return self.model.joints[name]

    def get_chain(self, root: str, tip: str) -> Chain:
        """The joints between two links, as the rest of the library takes them."""
        return self.model.chain(root, tip)

    def get_transform(
        self, frame_to: str, frame_from: str = WORLD, cfg: Mapping[str, float] | ArrayLike | None = None
    ) -> Array:
        """Pose of one link in the frame of another; "world" is the root."""
        poses = self.link_fk(cfg)
        root = self.model.root
        to, base = (self.get_link(root if name == WORLD else name).name for name in (frame_to, frame_from))
        return lie.inverse(poses[base]) @ poses[to]

    def extract_screw_axes(self, tip_link: str | None = None) -> dict[str, Any]:
        """M, S_list, B_list, G_list, Mlist_per_link, joint_limits and joint_names of the arm to a link."""
        chain = serial_arm(self.model, tip_link)
        limits = list(zip(chain.limits.lower.tolist(), chain.limits.upper.tolist()))
        return {
            "M": chain.M.copy(),
            "S_list": chain.S.copy(),
            "B_list": chain.B.copy(),
            "omega_list": chain.S[:3].copy(),
            "r_list": extract_r_list(chain.S).T,
            "G_list": list(chain.G.copy()),
            "Mlist_per_link": list(chain.M_com.copy()),
            "joint_limits": limits,
            "joint_names": list(chain.joint_names),
        }

    def to_serial_manipulator(self, tip_link: str | None = None) -> SerialManipulator:
        """Kinematics of the arm to a link, with the limits of the description."""
        return self._processor(tip_link).serial_manipulator

    def to_manipulator_dynamics(self, tip_link: str | None = None) -> ManipulatorDynamics:
        """Dynamics of the arm to a link."""
        return self._processor(tip_link).dynamics

    def show(self, cfg: Mapping[str, float] | ArrayLike | None = None, use_collision: bool = False) -> Any:
        """Draws the robot in a window and waits until it is closed; without a screen, draws in memory."""
        figure = draw.draw_robot(self.model, self.configuration(cfg), collisions=use_collision).figure
        draw.show(figure)
        return figure

    def animate(
        self,
        cfg_trajectory: ArrayLike | Mapping[str, Sequence[float]],
        loop_time: float = 3.0,
        use_collision: bool = False,
    ) -> Any:
        """`URDFToSerialManipulator.visualize_trajectory`."""
        return self._processor(None).visualize_trajectory(cfg_trajectory, loop_time, use_collision)

    def _processor(self, tip_link: str | None) -> URDFToSerialManipulator:
        return URDFToSerialManipulator(self.model, None, tip_link=tip_link)


@dataclass(frozen=True)
class ValidationResult:
    """What is doubtful in a description that was read; one with errors is refused when it is read."""

    warnings: tuple[str, ...]
    errors: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether there are no errors."""
        return not self.errors


def validate_urdf(urdf: URDFView) -> ValidationResult:
    """The warnings of a description, each with file, line, element and cure."""
    return ValidationResult(urdf.model.warnings)
