"""The folder of a robot, as `manipapy new-robot` writes it; every command, node and launch file takes it as the robot.

```
my_robot/
  my_robot.urdf              the description, xacro expanded; meshes as package://my_robot/meshes/...
  my_robot.srdf              groups, gripper, home, pairs of links that are not checked
  meshes/                    copies of the mesh files
  config/my_robot.yaml       parameters of the nodes: base, tip, home, locked joints
  config/joint_limits.yaml   limits, with those that are assumed
  launch/my_robot.launch.py
  package.xml CMakeLists.txt a ROS 2 package, so that RViz finds the meshes after colcon build
```
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ModelError
from .library import bundled_robots

LIMITS_FILE = "joint_limits.yaml"


@dataclass(frozen=True)
class RobotFolder:
    """The files of one robot."""

    path: Path
    name: str

    @classmethod
    def at(cls, source: object) -> RobotFolder | None:
        """The robot folder with this path; None if the source is not a folder. A text that is a bundled name is not.

        Raises:
            ModelError: A folder that holds no robot, or several.
        """
        if not isinstance(source, (str, os.PathLike)) or (
            isinstance(source, str) and ("<" in source or not source.strip())
        ):
            return None
        path = Path(source)
        try:
            if source in bundled_robots() or not path.is_dir():
                return None
        except (OSError, ValueError):
            return None
        names = [file.stem for file in sorted(path.glob("config/*.yaml")) if (path / f"{file.stem}.urdf").is_file()]
        if len(names) != 1:
            held = f"holds the robots {', '.join(names)}" if names else "is a folder without a robot"
            raise ModelError(
                os.fspath(source),
                [f"{held}; give the .urdf or .xacro file itself, or a folder that manipapy new-robot wrote"],
            )
        return cls(path.absolute(), names[0])

    @property
    def description(self) -> Path:
        """The URDF file."""
        return self.path / f"{self.name}.urdf"

    @property
    def semantic(self) -> Path:
        """The SRDF file."""
        return self.path / f"{self.name}.srdf"

    @property
    def config(self) -> Path:
        """Parameters of the nodes."""
        return self.path / "config" / f"{self.name}.yaml"

    @property
    def limits(self) -> Path | None:
        """The limits file; None if there is none."""
        path = self.path / "config" / LIMITS_FILE
        return path if path.is_file() else None

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the nodes by name.

        Raises:
            ModelError: The file is malformed.
        """
        import yaml

        try:
            document = yaml.safe_load(self.config.read_text(encoding="utf-8"))
            found = document["/**"]["ros__parameters"]
        except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
            raise ModelError(
                str(self.config), [f"no parameters under /**: ros__parameters ({error}); write the file again"]
            ) from error
        if not isinstance(found, dict):
            raise ModelError(str(self.config), ["ros__parameters is no mapping; write name: value lines below it"])
        return found
