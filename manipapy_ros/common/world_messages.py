"""The collision world as messages: the whole, and what changes from one version to the next."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from manipapy_msgs.msg import AttachedCollisionObject, WorldDiff
from manipapy_msgs.msg import World as WorldMessage

from manipapy_core.errors import InputError
from manipapy_core.geometry import AttachedObject, World, WorldObject, WorldSnapshot

from .object_messages import PERCEIVED, message_of, pose_of, shape_of


def message_from_world(world: WorldSnapshot, frame: str, session: int) -> WorldMessage:
    """A whole world as a message without a stamp.

    Args:
        frame: Base link of the arm.
        session: Of its owner.
    """
    message = WorldMessage(version=world.version, session=session)
    message.header.frame_id = frame
    for item in world.objects.values():
        listed = message.perceived if item.name.startswith(PERCEIVED) else message.objects
        listed.append(message_of(item.name, item.shape, item.T_base_object, frame, compact=True))
    message.attached = [_attached_message(carried) for carried in world.attached.values()]
    message.allowed_first, message.allowed_second = _pairs(world)
    return message


def world_from_message(message: WorldMessage) -> WorldSnapshot:
    """The world of a message.

    Raises:
        InputError: An object that cannot be used.
    """
    world = World()
    for item in (*message.objects, *message.perceived):
        world.add(item.id, shape_of(item), pose_of(item.pose))
    for carried in message.attached:
        item = carried.object
        world.add(item.id, shape_of(item))
        world.attach(item.id, item.header.frame_id, pose_of(item.pose), touch_links=tuple(carried.touch_links))
    allowed = _allowed(message)
    return replace(world.snapshot(), allowed=allowed, version=message.version)


def diff_between(old: WorldSnapshot, new: WorldSnapshot, frame: str, session: int) -> WorldDiff:
    """What changes from one snapshot of a world to a later one, as a message without a stamp.

    Objects that have not changed are the same Python objects in both.
    """
    message = WorldDiff(session=session, base_version=old.version, version=new.version)
    message.header.frame_id = frame
    for name, item in new.objects.items():
        before = old.objects.get(name)
        if before is item:
            continue
        changed = message_of(name, item.shape, item.T_base_object, frame, compact=True)
        if before is not None and before.shape is item.shape:
            pose = changed.pose
            changed = type(changed)(id=name, pose=pose)
            changed.header.frame_id = frame
        message.objects.append(changed)
    for name, carried in new.attached.items():
        if old.attached.get(name) is not carried:
            message.attached.append(_attached_message(carried))
    message.removed = [
        name for name in (*old.objects, *old.attached) if name not in new.objects and name not in new.attached
    ]
    if new.allowed != old.allowed:
        message.allowed_changed = True
        message.allowed_first, message.allowed_second = _pairs(new)
    return message


def apply_diff(world: WorldSnapshot, diff: WorldDiff) -> WorldSnapshot:
    """A world after a change; unchanged objects stay the same Python objects.

    Raises:
        InputError: The change is of another version, or has an object that cannot be used.
    """
    if diff.base_version != world.version:
        raise InputError(f"a change of version {diff.base_version} does not apply to version {world.version}")
    objects, attached = dict(world.objects), dict(world.attached)
    for name in diff.removed:
        objects.pop(name, None)
        attached.pop(name, None)
    for item in diff.objects:
        if not item.type and item.id not in objects:
            raise InputError(f"object {item.id!r} has moved, but is not known")
        shape = shape_of(item) if item.type else objects[item.id].shape
        attached.pop(item.id, None)
        objects[item.id] = _checked(WorldObject(item.id, shape, pose_of(item.pose)))
    for message in diff.attached:
        item = message.object
        objects.pop(item.id, None)
        attached[item.id] = _carried(message)
    allowed = _allowed(diff) if diff.allowed_changed else world.allowed
    return WorldSnapshot(MappingProxyType(objects), MappingProxyType(attached), allowed, diff.version)


def _attached_message(carried: AttachedObject) -> AttachedCollisionObject:
    described = message_of(carried.name, carried.shape, carried.T_link_object, carried.link, compact=True)
    return AttachedCollisionObject(object=described, touch_links=sorted(carried.touch_links))


def _checked(item: WorldObject) -> WorldObject:
    """The same object, checked as `World.add` does."""
    world = World()
    world.add(item.name, item.shape, item.T_base_object)
    return world.snapshot().objects[item.name]


def _carried(message: AttachedCollisionObject) -> AttachedObject:
    world, item = World(), message.object
    world.add(item.id, shape_of(item))
    world.attach(item.id, item.header.frame_id, pose_of(item.pose), touch_links=tuple(message.touch_links))
    return world.snapshot().attached[item.id]


def _pairs(world: WorldSnapshot) -> tuple[list[str], list[str]]:
    pairs = sorted(sorted(pair) for pair in world.allowed)
    return [first for first, _ in pairs], [second for _, second in pairs]


def _allowed(message: WorldMessage | WorldDiff) -> frozenset[frozenset[str]]:
    if len(message.allowed_first) != len(message.allowed_second):
        raise InputError(
            "the pairs that may touch are incomplete: there are more first names than second ones, or fewer"
        )
    return frozenset(frozenset(pair) for pair in zip(message.allowed_first, message.allowed_second, strict=True))
