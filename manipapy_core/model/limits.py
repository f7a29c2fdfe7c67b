"""Acceleration and jerk limits, which a URDF cannot hold, from a YAML file in the layout of MoveIt.

```yaml
joint_limits:
  shoulder:
    has_velocity_limits: true      # may only tighten what the URDF says
    max_velocity: 1.5              # rad/s or m/s
    has_acceleration_limits: true
    max_acceleration: 5.0          # rad/s^2 or m/s^2
    has_jerk_limits: true
    max_jerk: 50.0                 # rad/s^3 or m/s^3
    assumed: [acceleration, jerk]  # which of these no maker gives; `manipapy new-robot` writes this
```

A `has_..._limits: false` switches the value beside it off; left out, a value that is written counts. Position
and effort limits may be tightened in the same way; where the URDF gives none, or 0, any value is accepted. Joints that
are not listed stay as they are.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import ModelError, ModelFileNotFound
from .assumptions import LIMITS, UNITS, Assumption
from .elements import Joint
from .urdf.report import did_you_mean, parse_number
from .urdf.xml import decode


@dataclass(frozen=True)
class MotionLimits:
    """How fast the speed of one joint may change."""

    acceleration: float = math.inf
    """[rad/s^2 or m/s^2]; inf when not given."""
    jerk: float = math.inf
    """[rad/s^3 or m/s^3]; inf when not given."""


# Each value and the switch that turns it on or off.
_SWITCH_OF = {
    "min_position": "has_position_limits",
    "max_position": "has_position_limits",
    "max_velocity": "has_velocity_limits",
    "max_acceleration": "has_acceleration_limits",
    "max_jerk": "has_jerk_limits",
    "max_effort": "has_effort_limits",
}
# MoveIt's planners know these too; nothing here reads them.
_ASSUMED = "assumed"
_UNUSED = ("has_deceleration_limits", "max_deceleration", "angle_wraparound")


def no_motion_limits(joints: Mapping[str, Joint]) -> dict[str, MotionLimits]:
    """Unlimited acceleration and jerk for every movable joint."""
    return {name: MotionLimits() for name, joint in joints.items() if joint.type.moves}


def read_joint_limits(
    path: str | os.PathLike[str], joints: Mapping[str, Joint]
) -> tuple[dict[str, Joint], dict[str, MotionLimits], tuple[Assumption, ...]]:
    """Read a limits file and apply it to the joints of a robot.

    Args:
        path: The YAML file.
        joints: Joints of the robot by name.

    Returns:
        All joints, tightened where the file says so, one entry of motion limits per movable joint, and the values
        that the file marks as assumed.

    Raises:
        ModelError: Lists every problem of the file; also a FileNotFoundError when there is no such file.
    """
    problems: list[str] = []
    tightened = dict(joints)
    motion_limits = no_motion_limits(joints)
    assumptions: list[Assumption] = []
    for name, entry in _load_entries(Path(path)).items():
        where = f"{Path(path).name}: joint {name!r}"
        joint = joints.get(str(name))
        if joint is None:
            problems.append(f"{where} is not in the robot; correct the name ({did_you_mean(str(name), list(joints))})")
        elif not joint.type.moves:
            problems.append(f"{where} is fixed and has no limits; remove its entry")
        elif not isinstance(entry, dict):
            problems.append(f"{where} holds {entry!r}; write keys such as max_acceleration below it")
        else:
            values = _values(where, entry, problems)
            tightened[joint.name] = _tighten(where, joint, values, problems)
            motion_limits[joint.name] = MotionLimits(
                values.get("max_acceleration", math.inf), values.get("max_jerk", math.inf)
            )
            for quantity in _assumed(where, entry, values, problems):
                unit = UNITS[quantity][not joint.type.rotates]
                assumptions.append(Assumption(joint.name, quantity, values[f"max_{quantity}"], unit))
    if problems:
        raise ModelError(str(path), problems)
    return tightened, motion_limits, tuple(assumptions)


def _load_entries(path: Path) -> dict[Any, Any]:
    """The mapping below `joint_limits`."""
    # Imported late: a robot without a limits file should not pay for it.
    import yaml

    try:
        text = decode(path.read_bytes(), path.name, str(path))
    except FileNotFoundError as error:
        raise ModelFileNotFound(str(path), "no such limits file; correct the path") from error
    except OSError as error:
        raise ModelError(str(path), [f"cannot be read: {error.strerror}; give a readable YAML file"]) from error
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = path.name if mark is None else f"{path.name}:{mark.line + 1}"
        reason = getattr(error, "problem", None) or str(error)
        raise ModelError(str(path), [f"{where}: malformed YAML, {reason}; correct the layout"]) from error
    entries = document.get("joint_limits") if isinstance(document, dict) else None
    if not isinstance(entries, dict):
        raise ModelError(str(path), [f"{path.name}: no joints under the key joint_limits; write joint_limits: {{...}}"])
    return entries


def _values(where: str, entry: Mapping[Any, Any], problems: list[str]) -> dict[str, float]:
    """The numbers of one joint that are switched on and make sense."""
    switches = sorted(set(_SWITCH_OF.values()))
    known = [*_SWITCH_OF, *switches]
    for key in entry:
        if key not in known and key not in _UNUSED and key != _ASSUMED:
            problems.append(f"{where}: key {key!r} is not known; {did_you_mean(str(key), known)}")
    for switch in switches:
        if not isinstance(entry.get(switch, True), bool):
            problems.append(f"{where}: {switch} is {entry[switch]!r}; write true or false")
        elif entry.get(switch) is True and not any(key in entry for key in _SWITCH_OF if _SWITCH_OF[key] == switch):
            wanted = " and ".join(key for key in _SWITCH_OF if _SWITCH_OF[key] == switch)
            problems.append(f"{where}: {switch} is true but there is no value; write {wanted}, or false")
    values = {}
    for key, switch in _SWITCH_OF.items():
        if key not in entry or entry.get(switch, True) is False:
            continue
        value = _number(entry[key])
        if value is None or not math.isfinite(value):
            problems.append(f"{where}: {key} is {entry[key]!r}; write a finite number, or {switch}: false for no limit")
        elif value <= 0.0 and not key.endswith("position"):
            problems.append(f"{where}: {key} is {value:g}; write a positive number, or {switch}: false for no limit")
        else:
            values[key] = value
    return values


def _assumed(where: str, entry: Mapping[Any, Any], values: Mapping[str, float], problems: list[str]) -> list[str]:
    """The quantities of one joint that are marked as assumed and have a value."""
    written = entry.get(_ASSUMED, [])
    if not isinstance(written, list) or any(quantity not in LIMITS for quantity in written):
        problems.append(f"{where}: assumed is {written!r}; write a list of {', '.join(LIMITS)}")
        return []
    return [quantity for quantity in written if f"max_{quantity}" in values]


def _number(written: object) -> float | None:
    # YAML 1.1 reads 1e3 (no dot, no sign) as text, and true is an int to Python.
    if isinstance(written, str):
        return parse_number(written)
    return float(written) if isinstance(written, (int, float)) and not isinstance(written, bool) else None


def _tighten(where: str, joint: Joint, values: Mapping[str, float], problems: list[str]) -> Joint:
    """The joint with narrower limits; a value that would widen one is a problem."""
    cure = "limits may only tighten, write a narrower value or change the URDF"
    for key, current in (
        ("max_velocity", joint.velocity),
        ("max_effort", joint.effort),
        ("max_position", joint.upper),
    ):
        if values.get(key, -math.inf) > current:
            problems.append(f"{where}: {key} is {values[key]:g}, above the {current:g} of the robot; {cure}")
    lowest = values.get("min_position", joint.lower)
    if lowest < joint.lower:
        problems.append(f"{where}: min_position is {lowest:g}, below the {joint.lower:g} of the robot; {cure}")
    narrowed = replace(
        joint,
        lower=lowest,
        upper=values.get("max_position", joint.upper),
        velocity=values.get("max_velocity", joint.velocity),
        effort=values.get("max_effort", joint.effort),
    )
    if narrowed.lower > narrowed.upper:
        problems.append(
            f"{where}: the positions {narrowed.lower:g} to {narrowed.upper:g} are no range; "
            "write min_position below max_position"
        )
    return narrowed
