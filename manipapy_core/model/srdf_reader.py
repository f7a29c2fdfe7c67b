"""Reads a semantic description (SRDF), an untrusted file, with the parser and the reports of the URDF reader.

Many published files name links, joints and groups that their robot does not have. Such a pair of links, state or end
effector is left out with a warning; such a group is left out as a whole, never without the part that is unknown.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import ModelError
from .assemble import way_between
from .library import locate
from .srdf import DisabledPair, EndEffector, JointGroup, SemanticDescription, VirtualJoint
from .urdf.report import Report, did_you_mean, parse_number
from .urdf.xml import Element, parse_xml

if TYPE_CHECKING:
    from .robot import Robot

VIRTUAL_TYPES = ("fixed", "floating", "planar")
_KNOWN = (
    "group", "group_state", "end_effector", "virtual_joint", "passive_joint", "disable_collisions",
    "enable_collisions", "disable_default_collisions", "joint_property", "link_sphere_approximation",
)  # fmt: skip


def read(
    source: str | os.PathLike[str],
    robot: Robot,
    *,
    strict: bool,
    package_paths: Sequence[str | os.PathLike[str]],
    xacro_args: Mapping[str, str] | None,
) -> SemanticDescription:
    """The content of a file or text; see `srdf.read_srdf`."""
    located = locate(source, xacro_args, package_paths=package_paths)
    root = parse_xml(located.text, located.label, located.source)
    if root.tag != "robot":
        problem = f"{located.label}:{root.line}: the outermost element is <{root.tag}>; an SRDF begins with <robot>"
        raise ModelError(located.source, [problem])
    described = next((child for child in root.children if child.tag in ("link", "joint")), None)
    if described is not None:
        what = f"<{described.tag}> belongs to a URDF; give the SRDF file"
        raise ModelError(located.source, [f"{located.label}:{described.line}: {what}"])
    report = Report(located.label, located.source, strict)
    for text in located.flaws:
        report.add_flaw(text)
    return _Reader(report, root, robot).description()


class _Reader:
    """One document while it is read."""

    def __init__(self, report: Report, root: Element, robot: Robot):
        self.report, self.root, self.robot = report, root, robot

    def description(self) -> SemanticDescription:
        root, report = self.root, self.report
        name = root.attributes.get("name", "").strip()
        if name and name != self.robot.name:
            report.warning(root, "", f"it is for robot {name!r}, this one is {self.robot.name!r}; check the file")
        report.misspelt_children(root, "", _KNOWN)
        virtual = tuple(self._virtual(e) for e in root.children_named("virtual_joint"))
        virtual_joints = tuple(joint for joint in virtual if joint is not None)
        self.virtual_names = {joint.name for joint in virtual_joints}
        elements = self._named_groups()
        read = {name: self._group(name, element) for name, element in elements.items()}
        self._refuse_cycles(read, elements)
        groups = self._complete(read, elements)
        states = self._states(groups)
        effectors = [self._effector(e, groups) for e in root.children_named("end_effector")]
        passive = [self._known_joint(e, "") for e in root.children_named("passive_joint")]
        disabled = self._disabled()
        report.raise_problems()
        return SemanticDescription(
            name or self.robot.name,
            tuple(groups.values()),
            states,
            disabled,
            tuple(effector for effector in effectors if effector is not None),
            virtual_joints,
            tuple(dict.fromkeys(joint for joint in passive if joint is not None)),
            report.warnings,
        )

    def _named_groups(self) -> dict[str, Element]:
        found: dict[str, Element] = {}
        for element in self.root.children_named("group"):
            name = self.report.text(element, "", "name", 'write <group name="...">')
            if name is None:
                continue
            if name in found:
                first = found[name].line
                self.report.problem(element, f"group {name!r}", f"is given twice, first in line {first}; keep one")
                continue
            found[name] = element
        return found

    def _group(self, name: str, element: Element) -> JointGroup | None:
        """The group, or None if a part of it cannot be used."""
        owner = f"group {name!r}"
        self.report.misspelt_children(element, owner, ("chain", "joint", "link", "group"))
        chains = [self._chain(child, owner) for child in element.children_named("chain")]
        joints = [self._known_joint(child, owner, "") for child in element.children_named("joint")]
        links = [self._known_link(child, owner, "name", "") for child in element.children_named("link")]
        subgroups = [
            self.report.text(child, owner, "name", 'write <group name="..."/>')
            for child in element.children_named("group")
        ]
        if not element.children:
            self.report.flaw(element, owner, "is empty; name chains, joints, links or groups in it, or delete it")
        if None in chains or None in joints or None in links or None in subgroups:
            return None
        return JointGroup(
            name,
            tuple(chain for chain in chains if chain is not None),
            tuple(joint for joint in joints if joint is not None),
            tuple(link for link in links if link is not None),
            tuple(group for group in subgroups if group is not None),
        )

    def _complete(
        self, read: Mapping[str, JointGroup | None], elements: Mapping[str, Element]
    ) -> dict[str, JointGroup]:
        """Groups all of whose parts are known; those that contain a group that is left out are left out too."""
        for name, group in read.items():
            if group is None:
                self.report.flaw(elements[name], f"group {name!r}", "is left out; correct what is unknown in it")
        kept = {name: group for name, group in read.items() if group is not None}
        while True:
            missing = {name: [s for s in group.subgroups if s not in kept] for name, group in kept.items()}
            incomplete = [name for name, names in missing.items() if names]
            if not incomplete:
                return kept
            for name in incomplete:
                hint = did_you_mean(missing[name][0], list(kept))
                text = f"no group {missing[name][0]!r}, so this one is left out; {hint}"
                self.report.flaw(elements[name], f"group {name!r}", text)
                del kept[name]

    def _chain(self, element: Element, owner: str) -> tuple[str, str] | None:
        base = self._known_link(element, owner, "base_link", "")
        tip = self._known_link(element, owner, "tip_link", "")
        if base is None or tip is None:
            return None
        joints = way_between(self.robot, base, tip)
        if not any(joint.type.moves for joint in joints):
            self.report.flaw(element, owner, f"no joint moves between {base!r} and {tip!r}; name another base or tip")
        return base, tip

    def _refuse_cycles(self, groups: Mapping[str, JointGroup | None], elements: Mapping[str, Element]) -> None:
        below = {name: () if group is None else group.subgroups for name, group in groups.items()}
        for name in below:
            reached, pending = set[str](), list(below[name])
            while pending:
                other = pending.pop()
                if other not in reached:
                    reached.add(other)
                    pending += below.get(other, ())
            if name in reached:
                self.report.problem(elements[name], f"group {name!r}", "contains itself; delete one of the references")

    def _states(self, groups: Mapping[str, JointGroup]) -> dict[str, dict[str, dict[str, float]]]:
        states: dict[str, dict[str, dict[str, float]]] = {}
        for element in self.root.children_named("group_state"):
            name = self.report.text(element, "", "name", 'write <group_state name="..." group="...">')
            owner = f"group_state {name!r}" if name else f"the state in line {element.line}"
            group = element.attributes.get("group", "").strip()
            if group not in groups:
                self.report.flaw(element, owner, f"no group {group!r}, left out; {did_you_mean(group, list(groups))}")
                continue
            if name is None:
                continue
            values: dict[str, float] = {}
            for child in element.children_named("joint"):
                joint = self._known_joint(child, owner)
                # Joints of several degrees of freedom have several values and are held still here.
                if joint is not None and joint in self.robot.joints and self.robot.joints[joint].type.moves:
                    value = self._position(child, owner, joint)
                    if value is not None:
                        values[joint] = value
            if name in states.setdefault(group, {}):
                self.report.flaw(element, owner, f"is given twice for group {group!r}, the last one counts; keep one")
            states[group][name] = values
        return states

    def _position(self, element: Element, owner: str, name: str) -> float | None:
        written = self.report.text(element, owner, "value", 'write value="..." with the position in rad or m')
        if written is None:
            return None
        value = parse_number(written)
        if value is None or not abs(value) <= 1e4:
            self.report.problem(element, owner, f"value of {name!r} is {written!r}; write one finite number")
            return None
        joint = self.robot.joints[name]
        if not joint.lower - 1e-6 <= value <= joint.upper + 1e-6:
            limits = f"{joint.lower:.6g} to {joint.upper:.6g}"
            self.report.warning(element, owner, f"{name!r} at {value:g} is outside its limits {limits}; correct it")
        return value

    def _effector(self, element: Element, groups: Mapping[str, JointGroup]) -> EndEffector | None:
        name = self.report.text(element, "", "name", 'write <end_effector name="..." parent_link="..." group="..."/>')
        owner = f"end_effector {name!r}" if name else f"the end effector in line {element.line}"
        group = self.report.text(element, owner, "group", 'write group="..."')
        parent = self._known_link(element, owner, "parent_link")
        if group is not None and group not in groups:
            self.report.flaw(element, owner, f"no group {group!r}, left out; {did_you_mean(group, list(groups))}")
            return None
        parent_group = element.attributes.get("parent_group", "").strip()
        if parent_group and parent_group not in groups:
            hint = did_you_mean(parent_group, list(groups))
            self.report.flaw(element, owner, f"no group {parent_group!r} for parent_group, ignored; {hint}")
            parent_group = ""
        if name is None or group is None or parent is None:
            return None
        return EndEffector(name, group, parent, parent_group)

    def _virtual(self, element: Element) -> VirtualJoint | None:
        report = self.report
        name = report.text(element, "", "name", 'write <virtual_joint name="..." type="fixed" .../>')
        owner = f"virtual_joint {name!r}" if name else f"the virtual joint in line {element.line}"
        kind = report.text(element, owner, "type", f"write one of {', '.join(VIRTUAL_TYPES)}")
        frame = report.text(element, owner, "parent_frame", 'write parent_frame="world"')
        child = self._known_link(element, owner, "child_link")
        if kind is not None and kind not in VIRTUAL_TYPES:
            report.problem(element, owner, f"type is {kind!r}; write one of {', '.join(VIRTUAL_TYPES)}")
            return None
        if name is None or kind is None or frame is None or child is None:
            return None
        return VirtualJoint(name, kind, frame, child)

    def _disabled(self) -> tuple[DisabledPair, ...]:
        """Disabled pairs; links without default collisions are disabled against all but the pairs enabled again."""
        pairs: dict[frozenset[str], DisabledPair] = {}
        for element in self.root.children_named("disable_default_collisions"):
            link = self._known_link(element, "", "link")
            others = [] if link is None else [other for other in self.robot.links if other != link]
            for other in others:
                pairs[frozenset((link or "", other))] = DisabledPair(link or "", other, "Default")
        for element in self.root.children_named("enable_collisions"):
            first, second = (self._known_link(element, "", key) for key in ("link1", "link2"))
            pairs.pop(frozenset((first or "", second or "")), None)
        for element in self.root.children_named("disable_collisions"):
            first, second = (self._known_link(element, "", key) for key in ("link1", "link2"))
            if first is None or second is None:
                continue
            if first == second:
                self.report.flaw(element, "", f"{first!r} is named twice, ignored; name two links")
                continue
            reason = element.attributes.get("reason", "").strip() or "User"
            pairs[frozenset((first, second))] = DisabledPair(first, second, reason)
        return tuple(pairs.values())

    def _known_joint(self, element: Element, owner: str, skipped: str = ", left out") -> str | None:
        name = self.report.text(element, owner, "name", 'write name="..." with the name of a joint')
        if name is None or name in self.robot.joints or name in self.virtual_names:
            return name
        hint = did_you_mean(name, list(self.robot.joints))
        self.report.flaw(element, owner, f"no joint {name!r}{skipped}; {hint}")
        return None

    def _known_link(self, element: Element, owner: str, attribute: str, skipped: str = ", left out") -> str | None:
        name = self.report.text(element, owner, attribute, f'write {attribute}="..." with the name of a link')
        if name is None or name in self.robot.links:
            return name
        hint = did_you_mean(name, list(self.robot.links))
        self.report.flaw(element, owner, f"no link {name!r}{skipped}; {hint}")
        return None
