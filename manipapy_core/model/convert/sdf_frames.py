"""Poses of an SDF model: every link, joint, frame and nested model names what its pose is relative to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import lie
from ...typing import Array
from ..elements import transform_from_xyz_rpy
from ..urdf.report import Report, did_you_mean
from ..urdf.xml import Element

MODEL = "__model__"


def text_of(element: Element | None) -> str:
    """The text inside an element; empty for none."""
    return "" if element is None else "".join(part for part in element.content if isinstance(part, str)).strip()


def child(element: Element, tag: str) -> Element | None:
    """The first child of this tag."""
    return next(iter(element.children_named(tag)), None)


def child_text(element: Element | None, tag: str) -> str:
    """The text of a child; empty when there is none."""
    return "" if element is None else text_of(child(element, tag))


class SdfReader:
    """Reads numbers and poses of one document, noting problems with their lines."""

    def __init__(self, report: Report):
        self.report = report

    def numbers(self, element: Element | None, count: int, default: list[float]) -> list[float]:
        """Numbers in the text of an element; the default when there is none or they are not usable (a problem)."""
        if element is None or not text_of(element):
            return default
        written = Element(element.tag, {"value": text_of(element)}, element.line)
        values = self.report.vector(written, "", "value", None, count=count)
        return default if values is None else values

    def number(self, element: Element | None, tag: str, default: float) -> float:
        """One number in the text of a child; infinity is allowed."""
        found = None if element is None else child(element, tag)
        if found is None or not text_of(found):
            return default
        value = self.report.number(Element(tag, {"value": text_of(found)}, found.line), "", "value")
        return default if value is None else value

    def pose(self, element: Element) -> Array:
        """The `<pose>` of an element, identity when there is none; shape (4, 4)."""
        written = child(element, "pose")
        if written is None:
            return np.eye(4)
        if written.attributes.get("rotation_format") == "quat_xyzw":
            values = self.numbers(written, 7, [0.0] * 6 + [1.0])
            if not np.any(values[3:]):
                self.report.problem(written, "", "has a quaternion of length 0; write x y z qx qy qz qw")
                return np.eye(4)
            return lie.pose(lie.rotation_from_quaternion(values[3:]), values[:3])
        values = self.numbers(written, 6, [0.0] * 6)
        turn = values[3:]
        if written.attributes.get("degrees") in ("true", "1"):
            turn = [float(np.radians(angle)) for angle in turn]
        return transform_from_xyz_rpy(values[:3], turn)


@dataclass(frozen=True, eq=False)
class _Frame:
    relative_to: str
    T: Array
    element: Element


class Frames:
    """Named poses of one model, resolved to the model's own frame."""

    def __init__(self, reader: SdfReader):
        self._reader = reader
        self._frames: dict[str, _Frame] = {}

    def add(self, name: str, element: Element, default: str, T: Array | None = None, relative_to: str = "") -> None:
        """Note a pose.

        Args:
            name: Of the link, joint, frame or model.
            element: Has the `<pose>`.
            default: What it is relative to when the pose does not say.
            T: The pose, when it is known already.
            relative_to: And what it is relative to.
        """
        written = child(element, "pose")
        named = relative_to or ("" if written is None else written.attributes.get("relative_to", "").strip())
        pose = self._reader.pose(element) if T is None else T
        self._frames[name] = _Frame(named or default, pose, element)

    def __contains__(self, name: str) -> bool:
        return name in self._frames

    def in_model(self, name: str) -> Array:
        """Pose of a frame in the model, shape (4, 4); identity for one that does not exist (a problem)."""
        T = np.eye(4)
        passed: list[str] = []
        while name not in (MODEL, ""):
            frame = self._frames.get(name)
            if frame is None or name in passed:
                place = self._frames[passed[-1]].element if passed else next(iter(self._frames.values())).element
                cure = did_you_mean(name, list(self._frames)) if frame is None else "break the circle of poses"
                self._reader.report.problem(place, "", f"is relative to {name!r}, which cannot be resolved; {cure}")
                return np.eye(4)
            passed.append(name)
            T = frame.T @ T
            name = frame.relative_to
        return T
