"""`Scene`: several robots in one world frame, with ManipulaPy's names.

Intended difference from ManipulaPy: `check_inter_robot_collision` compares the convex parts of the links, not boxes
around them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import geometry, lie, polytopes
from ..errors import InputError
from ..geometry.body import link_frames
from ..typing import Array
from .inputs import shaped
from .urdf_document import URDF

Configuration = Mapping[str, float] | ArrayLike
TOUCHING = 1e-6
"""Distance up to which links of two robots count as touching [m]."""


@dataclass
class RobotInstance:
    """A robot of a scene."""

    name: str
    urdf: URDF
    base_transform: Array
    """Pose of its root link in the world, shape (4, 4)."""
    namespace: str
    """Put before the names of its links and joints, with a slash."""

    @property
    def prefixed_link_names(self) -> list[str]:
        """Names of its links in the scene."""
        return [f"{self.namespace}/{link.name}" for link in self.urdf.links]

    @property
    def prefixed_joint_names(self) -> list[str]:
        """Names of its joints in the scene."""
        return [f"{self.namespace}/{joint.name}" for joint in self.urdf.joints]


class Scene:
    """Robots by name, each with the pose of its base."""

    def __init__(self, name: str = "scene"):
        self.name = name
        self._robots: dict[str, RobotInstance] = {}

    @classmethod
    def from_urdfs(
        cls,
        urdfs: Mapping[str, str | os.PathLike[str] | URDF],
        base_transforms: Mapping[str, ArrayLike] | None = None,
        name: str = "scene",
    ) -> Scene:
        """A scene of descriptions or their files, by name, with the poses of their bases."""
        scene = cls(name)
        for key, source in urdfs.items():
            urdf = source if isinstance(source, URDF) else URDF.load(source)
            scene.add_robot(key, urdf, (base_transforms or {}).get(key))
        return scene

    def __repr__(self) -> str:
        return f"Scene({self.name!r}, robots: {', '.join(self._robots) or 'none'})"

    @property
    def robots(self) -> dict[str, RobotInstance]:
        """Robots by name."""
        return dict(self._robots)

    @property
    def robot_names(self) -> list[str]:
        """In the order in which they were added."""
        return list(self._robots)

    def add_robot(
        self,
        name: str,
        urdf: URDF,
        base_transform: ArrayLike | None = None,
        base_xyz: ArrayLike | None = None,
        base_rpy: ArrayLike | None = None,
        namespace: str | None = None,
    ) -> Scene:
        """Adds a robot; its base is given as a pose, or as position [m] and roll, pitch, yaw [rad]."""
        if name in self._robots:
            raise InputError(f"there is a robot {name!r} already; choose another name or remove it first")
        pose = _pose(base_transform, base_xyz, base_rpy)
        self._robots[name] = RobotInstance(name, urdf, pose, namespace or name)
        return self

    def remove_robot(self, name: str) -> Scene:
        """Takes a robot out."""
        del self._robots[self.get_robot(name).name]
        return self

    def get_robot(self, name: str) -> RobotInstance:
        """The robot of this name."""
        if name not in self._robots:
            raise InputError(f"no robot {name!r} in the scene; there are: {', '.join(self._robots) or 'none'}")
        return self._robots[name]

    def set_base_transform(
        self,
        name: str,
        base_transform: ArrayLike | None = None,
        base_xyz: ArrayLike | None = None,
        base_rpy: ArrayLike | None = None,
    ) -> Scene:
        """Moves the base of a robot; arguments as in `add_robot`."""
        self.get_robot(name).base_transform = _pose(base_transform, base_xyz, base_rpy)
        return self

    def world_link_fk(
        self, configurations: Mapping[str, Configuration], links: Mapping[str, Sequence[str]] | None = None
    ) -> dict[str, dict[str, Array]]:
        """Poses of links in the world, by robot and link.

        Args:
            configurations: Joint positions [rad or m] by robot; all 0 for those not given.
            links: Which links, by robot; all of those not given.
        """
        self._require_known(configurations)
        found = {}
        for name, robot in self._robots.items():
            poses = robot.urdf.link_fk(configurations.get(name))
            chosen = list(poses) if links is None or name not in links else links[name]
            found[name] = {link: robot.base_transform @ poses[robot.urdf.get_link(link).name] for link in chosen}
        return found

    def world_end_effector_fk(self, configurations: Mapping[str, Configuration]) -> dict[str, Array]:
        """Pose of the last link of every robot's arm in the world."""
        ends = {name: robot.urdf.end_effector_link.name for name, robot in self._robots.items()}
        poses = self.world_link_fk(configurations, {name: [end] for name, end in ends.items()})
        return {name: poses[name][end] for name, end in ends.items()}

    def get_all_collision_geometry(
        self, configurations: Mapping[str, Configuration] | None = None
    ) -> list[dict[str, Any]]:
        """Collision shapes of all robots: robot, link, geometry and its pose in the world (`transform`)."""
        return self._shapes("collisions", configurations or {})

    def get_all_visual_geometry(
        self, configurations: Mapping[str, Configuration] | None = None
    ) -> list[dict[str, Any]]:
        """Visual shapes of all robots, as `get_all_collision_geometry`."""
        return self._shapes("visuals", configurations or {})

    def check_inter_robot_collision(
        self, configurations: Mapping[str, Configuration]
    ) -> list[tuple[str, str, str, str]]:
        """Links of different robots that touch: robot, link, other robot, its link."""
        self._require_known(configurations)
        models = {name: robot.urdf.model for name, robot in self._robots.items()}
        bodies = {name: geometry.RobotBody.build(model, model.tree()) for name, model in models.items()}
        names, found = self.robot_names, set()
        for index, first in enumerate(names):
            for second in names[index + 1 :]:
                world, owner = self._as_world(second, bodies[second], configurations.get(second), first)
                q = self._robots[first].urdf.configuration(configurations.get(first))
                near = polytopes.near_points(bodies[first], world, q, influence=0.01, self_collision=False)
                for (link, part), distance in zip(near.names, near.distance):
                    if distance <= TOUCHING:
                        found.add((first, link, second, owner[part]))
        return sorted(found)

    def _as_world(
        self, name: str, body: geometry.RobotBody, configuration: Configuration | None, seen_from: str
    ) -> tuple[geometry.World, dict[str, str]]:
        """The parts of a robot as objects around another one, and the link of each."""
        robot = self._robots[name]
        poses = robot.urdf.link_fk(configuration)
        T_seen = lie.inverse(self._robots[seen_from].base_transform) @ robot.base_transform
        places = link_frames(body.chain)
        world, owner = geometry.World(), {}
        for group in body.groups:
            T_frame_link = np.eye(4)
            T_frame_link[:3, :3], T_frame_link[:3, 3] = places[group.name]
            T_seen_frame = T_seen @ poses[group.name] @ lie.inverse(T_frame_link)
            for k, part in enumerate(group.parts):
                label = f"{group.name} {k}"
                world.add(label, part.shape, T_seen_frame @ part.T_frame_shape)
                owner[label] = group.name
        return world, owner

    def _shapes(self, kind: str, configurations: Mapping[str, Configuration]) -> list[dict[str, Any]]:
        poses = self.world_link_fk(configurations)
        return [
            {
                "robot": name,
                "link": link.name,
                "geometry": shape.geometry,
                "transform": poses[name][link.name] @ shape.T_link_shape,
            }
            for name, robot in self._robots.items()
            for link in robot.urdf.links
            for shape in getattr(link, kind)
        ]

    def _require_known(self, configurations: Mapping[str, Any]) -> None:
        for name in configurations:
            self.get_robot(name)


def _pose(T: ArrayLike | None, xyz: ArrayLike | None, rpy: ArrayLike | None) -> Array:
    """A pose from a matrix, or from position and roll, pitch, yaw."""
    if T is not None:
        if xyz is not None or rpy is not None:
            raise InputError("give base_transform, or base_xyz and base_rpy, not both")
        return shaped(T, (4, 4), "base_transform")
    pose = np.eye(4)
    if xyz is not None:
        pose[:3, 3] = shaped(xyz, (3,), "base_xyz")
    if rpy is not None:
        pose[:3, :3] = lie.rotation_from_rpy(shaped(rpy, (3,), "base_rpy"))
    return pose
