"""The node `model_server`: publishes the robot's description and answers questions about its geometry.

Publishes `robot_description` (std_msgs/String, latched) and offers `~/compute_fk` (manipapy_msgs/ComputeFK) while
active. Changed parameters take effect at the next configure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from manipapy_msgs.srv import ComputeFK
from std_msgs.msg import String

from manipapy_core import Robot, kinematics
from manipapy_core.errors import InputError, ManipapyError, UnknownLink

from . import qos
from .conversions import positions_by_name, stamped_pose
from .lifecycle import ManagedNode, NotActive, run
from .params import Param, Value

PARAMETERS = (
    Param("robot", "ur5", "A bundled robot by name, or the path of a URDF or xacro file"),
    Param("base_link", "", "Link that poses are given in; empty: the root of the description"),
    Param("tip_link", "tool0", "Link at the end of the arm; its pose is the answer when no link is named"),
)


class ModelServer(ManagedNode):
    """One robot, one arm of it, from configure to cleanup."""

    def __init__(self) -> None:
        super().__init__("model_server", PARAMETERS)

    def configure(self, values: dict[str, Value]) -> None:
        """Read the description and compile what the service needs, so that its first answer is not slow."""
        # Geometry needs no meshes; one that is not found is a warning, for RViz' sake.
        self._robot = Robot.from_urdf(str(values["robot"]), check_meshes=False)
        for warning in self._robot.warnings:
            self.get_logger().warning(warning)
        self._chain = self._robot.chain(str(values["base_link"]) or self._robot.root, str(values["tip_link"]))
        if self._chain.n == 0:
            raise InputError(
                f"no joint moves between {self._chain.base!r} and {self._chain.tip!r}; "
                "set base_link and tip_link to the two ends of the arm"
            )
        home = [0.0] * self._chain.n
        kinematics.forward(self._chain, home)
        kinematics.link_poses(self._chain, home)
        self._description = self.create_lifecycle_publisher(String, "robot_description", qos.ROBOT_DESCRIPTION)
        self._compute_fk = self.create_service(ComputeFK, "~/compute_fk", self._on_compute_fk)
        self.get_logger().info(
            f"{self._robot.name}: {self._chain.base} → {self._chain.tip}, joints {', '.join(self._chain.joint_names)}"
        )

    def activate(self) -> None:
        """Publish the description."""
        self._description.publish(String(data=self._robot.urdf))

    def cleanup(self) -> None:
        """Take topic and service away."""
        self.destroy_lifecycle_publisher(self._description)
        self.destroy_service(self._compute_fk)

    def _on_compute_fk(self, request: ComputeFK.Request, response: ComputeFK.Response) -> ComputeFK.Response:
        try:
            self._answer(request, response)
        except ManipapyError as error:
            response.success, response.message = False, str(error)
        return response

    def _answer(self, request: ComputeFK.Request, response: ComputeFK.Response) -> None:
        if not self.is_active:
            raise NotActive(self.get_fully_qualified_name())
        chain, state = self._chain, request.joint_state
        q = positions_by_name(state, chain.joint_names)
        if request.link_names:
            names = list(request.link_names)
            unknown = [name for name in names if name not in chain.link_names]
            if unknown:
                raise UnknownLink(unknown[0], chain.link_names)
            every_pose = kinematics.link_poses(chain, q)
            poses = [every_pose[chain.link_names.index(name)] for name in names]
        else:
            names, poses = [chain.tip], [kinematics.forward(chain, q)]
        response.link_names = names
        response.poses = [stamped_pose(T, chain.base, state) for T in poses]
        response.success = True


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(ModelServer, argv)


if __name__ == "__main__":
    sys.exit(main())
