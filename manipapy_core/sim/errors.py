"""Errors of the simulation."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError, ManipapyError


class SimulationUnavailable(ManipapyError, ImportError):
    """PyBullet is not installed or cannot open a server or window."""


class SceneError(InputError):
    """An invalid scene or object; lists all its problems."""

    def __init__(self, source: str, problems: Sequence[str]):
        listing = "\n".join(f"  - {problem}" for problem in problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(f"{source}: {count}\n{listing}")
        self.source, self.problems = source, tuple(problems)


class SceneNotFound(SceneError, FileNotFoundError):
    """A scene file that does not exist."""

    def __init__(self, source: str, problem: str):
        super().__init__(source, [problem])


class UnknownSceneObject(InputError):
    """An object name that the world does not have."""

    def __init__(self, name: str, available: Sequence[str]):
        super().__init__(f"no object {name!r}; this world has: {', '.join(available) or 'none'}")
        self.name, self.available = name, tuple(available)


class NameTaken(InputError):
    """A name that another object or robot of the world already has."""

    def __init__(self, kind: str, name: str):
        super().__init__(f"there is a {kind} {name!r} already; choose another name or remove it first")
        self.kind, self.name = kind, name


class CommandRefused(InputError):
    """An invalid command; the last valid one stays active."""

    def __init__(self, reason: str, joint: str | None = None):
        super().__init__(f"command refused: {reason}")
        self.reason, self.joint = reason, joint


class NotSimulable(InputError):
    """A robot description without the masses that physics needs."""

    def __init__(self, robot: str, joints: Sequence[str]):
        names = ", ".join(joints)
        super().__init__(
            f"robot {robot!r} cannot be simulated: no mass moves with {names}; "
            "give the links behind these joints an <inertial>"
        )
        self.robot, self.joints = robot, tuple(joints)


class SnapshotError(InputError):
    """A saved state that is no longer valid."""

    def __init__(self, reason: str):
        super().__init__(f"the saved state cannot be restored: {reason}; save again after the change")
        self.reason = reason


class RenderError(ManipapyError):
    """The rendering process failed or did not respond."""
