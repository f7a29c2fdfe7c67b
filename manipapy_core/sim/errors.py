"""What can go wrong in the simulation; each error carries its data and names the cure."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError, ManipapyError


class SimulationUnavailable(ManipapyError, ImportError):
    """PyBullet is not installed, or cannot open what it was asked for."""


class SceneError(InputError):
    """A scene or an object that cannot be used; lists every problem found in it."""

    def __init__(self, source: str, problems: Sequence[str]):
        listing = "\n".join(f"  - {problem}" for problem in problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(f"{source}: {count}\n{listing}")
        self.source, self.problems = source, tuple(problems)


class SceneNotFound(SceneError, FileNotFoundError):
    """A scene file that is not there."""

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
    """A command that was not taken; the last good one stays in force."""

    def __init__(self, reason: str, joint: str | None = None):
        super().__init__(f"command refused: {reason}")
        self.reason, self.joint = reason, joint


class NotSimulable(InputError):
    """A robot description that is enough for geometry but not for physics."""

    def __init__(self, robot: str, joints: Sequence[str]):
        names = ", ".join(joints)
        super().__init__(
            f"robot {robot!r} cannot be simulated: nothing with a mass moves with {names}; "
            "give the links behind these joints an <inertial>"
        )
        self.robot, self.joints = robot, tuple(joints)


class SnapshotError(InputError):
    """A saved state that does not fit the world any more."""

    def __init__(self, reason: str):
        super().__init__(f"the saved state cannot be restored: {reason}; save again after the change")
        self.reason = reason


class RenderError(ManipapyError):
    """The rendering process failed or did not answer; says what it said last."""
