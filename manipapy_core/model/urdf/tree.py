"""Checks that the links and joints form one tree, and that mimic joints follow a joint that moves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..elements import Joint, Mimic
from .report import Report, did_you_mean
from .xml import Element


@dataclass(frozen=True, eq=False)
class JointEntry:
    """A joint of the file, also one that could not be read."""

    name: str
    element: Element
    joint: Joint | None
    """None when parent or child are not written, which is reported already."""
    held: str = ""
    """`floating` or `planar` for a joint of that type, which is held still."""

    @property
    def owner(self) -> str:
        """What messages call it."""
        return f"joint {self.name!r}"


WORLD = "world"
"""Link that some tools add by themselves."""


def check_tree(report: Report, robot: Element, links: dict[str, Element], entries: Sequence[JointEntry]) -> str:
    """Report everything that keeps links and joints from being one tree.

    Args:
        report: Takes the problems.
        robot: The `<robot>` element.
        links: Elements of the links by name. Added is the link `world` when joints hang on it, and otherwise the one
            link that is missing if everything hangs on it.
        entries: The joints in file order.

    Returns:
        Name of the root link; empty when there is none (a problem).
    """
    if not links:
        report.problem(robot, "", 'has no links; write at least one <link name="..."/>')
        return ""
    complete = [(entry, entry.joint) for entry in entries if entry.joint is not None]
    mount = _missing_mount(links, [joint for _, joint in complete])
    hanging = next((entry for entry, joint in complete if joint.parent == mount), None)
    if hanging is not None and mount not in links:
        cure = f'add <link name="{mount}"/>'
        report.flaw(hanging.element, hanging.owner, f"parent link {mount!r} does not exist and was added; {cure}")
        links[mount] = robot
    parent_joint: dict[str, JointEntry] = {}
    for entry, joint in complete:
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                hint = did_you_mean(name, list(links))
                report.problem(
                    entry.element,
                    entry.owner,
                    f'{role} link {name!r} does not exist; add <link name="{name}"/> or correct the name ({hint})',
                )
        if joint.child in parent_joint:
            first = parent_joint[joint.child]
            report.problem(
                entry.element,
                entry.owner,
                f"link {joint.child!r} already has a parent through joint {first.name!r} "
                f"(line {first.element.line}); a link hangs on one joint only, remove one of them",
            )
        parent_joint.setdefault(joint.child, entry)

    _check_cycles(report, complete)
    roots = [name for name in links if name not in parent_joint]
    if len(roots) < 2:
        return roots[0] if roots else ""
    sizes = {root: len(links_below(root, [joint for _, joint in complete])) for root in roots}
    largest = max(roots, key=lambda root: sizes[root])
    listed = ", ".join(f"{name!r} (line {links[name].line}, {_links(sizes[name])})" for name in roots)
    report.flaw(
        robot,
        "",
        f"{len(roots)} links have no parent joint: {listed}; only the tree below {largest!r} is used, connect the "
        "others with joints (type fixed if they do not move) or delete them",
    )
    return largest


def _missing_mount(links: Mapping[str, Element], joints: Sequence[Joint]) -> str:
    """`world`, or the one missing parent that everything hangs on, as in the description of a gripper alone.

    Then no name of the file can be a misspelling of it: the link that was meant would hang on nothing.
    """
    missing = {joint.parent for joint in joints} - set(links)
    if len(missing) == 1 and links_below(mount := next(iter(missing)), joints) == {mount, *links}:
        return mount
    return WORLD


def links_below(root: str, joints: Iterable[Joint]) -> set[str]:
    """The links of the tree that hangs on a link, which is among them."""
    below: dict[str, list[str]] = defaultdict(list)
    for joint in joints:
        below[joint.parent].append(joint.child)
    found, pending = {root}, [root]
    while pending:
        fresh = [child for child in below.get(pending.pop(), ()) if child not in found]
        found.update(fresh)
        pending += fresh
    return found


def _links(count: int) -> str:
    return "1 link" if count == 1 else f"{count} links"


def _check_cycles(report: Report, joints: Sequence[tuple[JointEntry, Joint]]) -> None:
    """Walk down from every link; meeting a link of the current path again closes a cycle."""
    below: dict[str, list[tuple[JointEntry, Joint]]] = defaultdict(list)
    for entry, joint in joints:
        below[joint.parent].append((entry, joint))
    finished: set[str] = set()
    for start in list(below):
        if start in finished:
            continue
        path = {start: iter(below[start])}
        while path:
            deepest = next(reversed(path))
            step = next(path[deepest], None)
            if step is None:
                finished.add(deepest)
                del path[deepest]
                continue
            entry, joint = step
            if joint.child in path:
                names = list(path)
                cycle = [*names[names.index(joint.child) :], joint.child]
                listed = " -> ".join(repr(name) for name in cycle)
                cure = "links and joints must form a tree, remove one joint of the cycle"
                report.problem(entry.element, entry.owner, f"closes the cycle {listed}; {cure}")
            elif joint.child not in finished:
                path[joint.child] = iter(below.get(joint.child, ()))


def fold_mimics(report: Report, entries: Mapping[str, JointEntry]) -> dict[str, Joint]:
    """The joints in file order, each mimic following directly the joint that moves on its own.

    A joint that follows a follower is rewritten: q = m1 (m2 q_driver + o2) + o1.
    """
    joints = {}
    for entry in entries.values():
        if entry.joint is None:
            continue
        mimic = _final_mimic(report, entry, entry.joint, entries)
        joints[entry.name] = entry.joint if mimic is entry.joint.mimic else replace(entry.joint, mimic=mimic)
    return joints


def _final_mimic(report: Report, entry: JointEntry, joint: Joint, entries: Mapping[str, JointEntry]) -> Mimic | None:
    folded = joint.mimic
    passed = [entry.name]
    while folded is not None:
        if folded.joint in passed:
            # Members of the cycle tell it; a joint that merely follows one of them has nothing to add.
            if folded.joint == entry.name:
                listed = " -> ".join(repr(name) for name in [*passed, entry.name])
                report.problem(
                    entry.element,
                    entry.owner,
                    f"mimics itself ({listed}); name a joint that moves on its own",
                )
            return None
        driver = entries.get(folded.joint)
        if driver is None:
            # Reported where it is written; a follower further along points at a joint that exists.
            if len(passed) == 1:
                hint = did_you_mean(folded.joint, [name for name in entries if name != entry.name])
                report.flaw(
                    entry.element,
                    entry.owner,
                    f"mimics joint {folded.joint!r}, which does not exist, and so moves on its own; correct the "
                    f"name ({hint}) or delete <mimic>",
                )
            return None
        if driver.joint is None:
            return None
        if not driver.joint.type.moves:
            if len(passed) == 1:
                report.flaw(
                    entry.element,
                    entry.owner,
                    f"mimics joint {folded.joint!r}, which is fixed, and so moves on its own; name a joint that "
                    "moves, or make this one fixed too",
                )
            return None
        following = driver.joint.mimic
        if following is None:
            return folded
        passed.append(folded.joint)
        folded = Mimic(
            following.joint,
            folded.multiplier * following.multiplier,
            folded.multiplier * following.offset + folded.offset,
        )
    return None


def followers_freed(joints: Mapping[str, Joint]) -> dict[str, Joint]:
    """The joints, those whose driver is in another tree moving on their own."""
    return {
        name: replace(joint, mimic=None) if joint.mimic is not None and joint.mimic.joint not in joints else joint
        for name, joint in joints.items()
    }
