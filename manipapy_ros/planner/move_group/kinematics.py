"""Answers to MoveIt's services of kinematics: compute_fk, compute_ik, check_state_validity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import ConstraintEvalResult, ContactInformation, MoveItErrorCodes
from moveit_msgs.srv import GetPositionFK, GetPositionIK, GetStateValidity

from manipapy_core import lie
from manipapy_core.errors import UnknownLink
from manipapy_core.geometry import Checker, WorldSnapshot
from manipapy_core.motion import PoseGoal, TipsGoal
from manipapy_core.motion.goals import joint_goals, more_goals
from manipapy_core.typing import Array

from ...common.conversions import pose_from_matrix, to_nanoseconds
from ...common.object_messages import pose_of
from .constraints import SLACK, read_constraints
from .error_codes import RequestRefused, error_code, refused_as
from .group import PlanningGroup, PlanningGroups

Positions = Callable[[], Array]


def forward(request: GetPositionFK.Request, group: PlanningGroup, now: Positions) -> GetPositionFK.Response:
    """Poses of links.

    Raises:
        UnknownLink: There is no such link.
        RequestRefused: A frame that is not known, or no links.
    """
    if not request.fk_link_names:
        text = f"the request names no links; the robot has {', '.join(group.chain.link_names)}"
        raise RequestRefused(MoveItErrorCodes.INVALID_LINK_NAME, text)
    q = group.positions(request.robot_state, now)
    T_base_frame = group.T_base_frame(request.header.frame_id, q, to_nanoseconds(request.header.stamp))
    response = GetPositionFK.Response(fk_link_names=list(request.fk_link_names))
    for link in request.fk_link_names:
        stamped = PoseStamped(pose=pose_from_matrix(lie.inverse(T_base_frame) @ group.link_pose(q, link)))
        stamped.header.frame_id = request.header.frame_id or group.chain.base
        stamped.header.stamp = request.header.stamp
        response.pose_stamped.append(stamped)
    response.error_code = error_code(MoveItErrorCodes.SUCCESS, "")
    return response


def inverse(
    request: GetPositionIK.Request, groups: PlanningGroups, world: WorldSnapshot, now: Positions
) -> GetPositionIK.Response:
    """Joint positions for poses of links, near the given state.

    Raises:
        RequestRefused: The request is invalid, or every solution collides or breaks a constraint.
        Stopped: There is no solution.
    """
    wanted = request.ik_request
    group = groups.of(wanted.group_name)
    q = group.positions(wanted.robot_state, now)
    links = list(wanted.ik_link_names) or [group.tip_of(wanted.ik_link_name)]
    stamped = list(wanted.pose_stamped_vector) or [wanted.pose_stamped]
    if len(links) != len(stamped):
        text = f"{len(links)} links and {len(stamped)} poses for them; give one pose per link"
        raise RequestRefused(MoveItErrorCodes.INVALID_LINK_NAME, text)
    poses = {}
    for link, item in zip(links, stamped, strict=True):
        if link not in group.chain.link_names:
            raise UnknownLink(link, group.chain.link_names)
        if link not in group.moved_links:
            text = f"{link!r} is not moved by group {group.name!r}; choose a link that is"
            raise RequestRefused(MoveItErrorCodes.INVALID_LINK_NAME, text)
        T = group.T_base_frame(item.header.frame_id, q, to_nanoseconds(item.header.stamp))
        with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
            poses[link] = T @ pose_of(item.pose)
    with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
        goal = PoseGoal(poses[group.chain.tip]) if links == [group.chain.tip] else TipsGoal(poses)
        rows = joint_goals(group.chain, goal, q, 0, group.held)
    kept = read_constraints(wanted.constraints, group, q, MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS)

    def accepted(rows: Array) -> Array:
        rows = rows[kept.met(group, rows)]
        return rows[~group.checker.check(rows, snapshot=world)] if wanted.avoid_collisions and len(rows) else rows

    found = accepted(rows)
    if not len(found):
        found = accepted(more_goals(group.chain, goal, q, 0, group.held))
    if not len(found):
        why = "collides or breaks a constraint" if wanted.avoid_collisions else "breaks a constraint"
        text = f"the pose is reached, but each of {len(rows)} solutions {why}"
        raise RequestRefused(MoveItErrorCodes.NO_IK_SOLUTION, text)
    nearest = found[int(np.argmin(np.linalg.norm(found - q, axis=1)))]
    response = GetPositionIK.Response(solution=group.state(nearest))
    response.error_code = error_code(MoveItErrorCodes.SUCCESS, "")
    return response


def validity(
    request: GetStateValidity.Request, groups: PlanningGroups, world: WorldSnapshot, now: Positions
) -> GetStateValidity.Response:
    """Whether a state is free of contacts and meets constraints.

    Raises:
        RequestRefused: The request is invalid.
    """
    group = groups.of(request.group_name) if request.group_name else groups.main
    checker = group.checker
    q = group.positions(request.robot_state, now)
    kept = read_constraints(request.constraints, group, q, MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS)
    response = GetStateValidity.Response()
    limits = group.chain.limits
    inside = bool(np.all((q >= limits.lower - SLACK) & (q <= limits.upper + SLACK)))
    collides = bool(checker.check(q, snapshot=world))
    for distance in kept.distances(group, q[None])[0].tolist():
        response.constraint_result.append(ConstraintEvalResult(result=distance <= SLACK, distance=distance))
    met = all(item.result for item in response.constraint_result)
    response.valid = inside and not collides and met
    if collides:
        response.contacts = _contacts(q, group, checker, world)
    return response


def _contacts(q: Array, group: PlanningGroup, checker: Checker, world: WorldSnapshot) -> list[ContactInformation]:
    """Contacts with objects; one of the robot with itself where there are none."""
    near, contacts = checker.distances(q, snapshot=world), []
    for number, link in enumerate(near.links):
        index, distance = int(near.object_index[number]), float(near.distance[number])
        if index < 0 or distance >= 0.0:
            continue
        contact = ContactInformation(contact_body_1=link, contact_body_2=near.object_names[index], depth=-distance)
        carried = link in world.attached
        contact.body_type_1 = ContactInformation.ROBOT_ATTACHED if carried else ContactInformation.ROBOT_LINK
        contact.body_type_2 = ContactInformation.WORLD_OBJECT
        contact.header.frame_id = group.chain.base
        place = near.point_object[number].tolist()
        contact.position.x, contact.position.y, contact.position.z = place
        contacts.append(contact)
    if not contacts:
        robot = group.model.robot.name
        contacts.append(ContactInformation(contact_body_1=robot, contact_body_2=robot))
        contacts[0].header.frame_id = group.chain.base
    return contacts
