"""Poses for a hand-eye calibration: reachable, free of collision, the board in view, and as informative as possible.

The rough guess of the two unknown poses may be wrong by some centimetres and ten degrees: the board only has to be in
the image.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .. import ik, lie
from ..errors import InputError
from ..geometry import Checker
from ..motion import PlanResult, plan
from ..perception.points.self_filter import SelfFilter
from ..perception.stereo.camera import Camera
from ..typing import Array, Progress
from .boards import Board
from .hand_eye import MIN_VIEWS, Setup, robot_poses
from .refinement import Problem, information
from .view_sampling import sampled_views

CANDIDATES = 300
"""Random views that are tried."""
NEAR_CAMERA, NEAR_BOARD = 0.06, 0.03
"""Parts of the robot this near to the camera or the board [m] hide nothing: they carry them."""
PRIOR = 1e-2
"""Information about the unknowns before the first view, relative to that of a view: makes the first choices defined."""


@dataclass(frozen=True, eq=False)
class Visit:
    """A pose to take an image at."""

    q: Array
    """Joint positions [rad or m], shape (n,)."""
    T_base_hand: Array
    T_camera_board: Array
    """As expected from the guess, shape (4, 4)."""
    motion: PlanResult
    """From the visit before, or from the start; its trajectory is verified."""


@dataclass(frozen=True, eq=False)
class VisitPlan:
    """Poses in the order in which they are visited."""

    visits: tuple[Visit, ...]
    rotation_sigma: float
    translation_sigma: float
    """Standard deviations of the camera's pose that follow from these views for corners with an error of 0.1 pixels
    [rad], [m]; errors of the robot's poses come on top."""
    unreachable: int
    """Views that were tried and are out of reach, in collision or hidden."""


def plan_visits(
    checker: Checker,
    start: ArrayLike,
    board: Board,
    camera: Camera,
    setup: Setup,
    *,
    T_parent_camera: ArrayLike,
    T_other_board: ArrayLike,
    count: int = 15,
    seed: int = 0,
    distances: tuple[float, float] | None = None,
    speed: float = 0.3,
    timeout: float = 5.0,
    progress: Progress = lambda done, total: None,
) -> VisitPlan:
    """Choose poses and plan the motions between them.

    Args:
        checker: Robot and world; the tip of its chain is the hand. Board and camera belong into the world or onto the
            hand, where they could be hit.
        start: Joint positions [rad or m], shape (n,).
        T_parent_camera: Rough pose of the camera in the hand (camera on the hand) or in the base, shape (4, 4).
        T_other_board: Rough pose of the board in the base (camera on the hand) or in the hand, shape (4, 4).
        count: Poses wanted.
        distances: Nearest and farthest of the board from the camera [m]; by its size in the image if not given.
        speed: Share of the velocity and acceleration limits.
        timeout: For each motion [s].
        progress: Called with the number of candidates tried, and of all.

    Raises:
        InputError: Fewer poses than a calibration needs can be reached.
    """
    if not MIN_VIEWS <= count <= CANDIDATES:
        raise InputError(f"count is {count}; give {MIN_VIEWS} to {CANDIDATES} poses")
    chain = checker.body.chain
    q = np.asarray(start, dtype=np.float64)
    X, Y = (np.asarray(T, dtype=np.float64) for T in (T_parent_camera, T_other_board))
    shadows = SelfFilter(checker.body, padding=0.0)
    rng = np.random.default_rng(seed)
    reachable: list[tuple[Array, Array, Array]] = []
    candidates = itertools.islice(sampled_views(board, camera, rng, distances=distances), CANDIDATES)
    for number, B in enumerate(candidates):
        progress(number, CANDIDATES)
        A = X @ B @ lie.inverse(Y)
        T = lie.inverse(A) if setup is Setup.ON_HAND else A
        found = ik.solve(chain, T, q_seed=q)
        if not found.solved or checker.check(found.q[None])[0]:
            continue
        T_base_camera = T @ X if setup is Setup.ON_HAND else X
        if not _hidden(shadows.spheres_at(found.q), T_base_camera, board, B):
            reachable.append((found.q, T, B))
    unreachable = CANDIDATES - len(reachable)
    if len(reachable) < MIN_VIEWS:
        raise InputError(
            f"{len(reachable)} of {CANDIDATES} views of the board can be reached; at least {MIN_VIEWS} are needed: "
            "move the board into the middle of the workspace, and check the guesses of the two poses"
        )
    order = _most_informative(setup, [T for _, T, _ in reachable], board, [B for _, _, B in reachable], camera, X, Y)
    visits = _connected(checker, q, [reachable[index] for index in order], count, speed, timeout)
    if len(visits) < MIN_VIEWS:
        raise InputError(f"the planner reaches {len(visits)} poses only; at least {MIN_VIEWS} are needed")
    problem = _problem(
        setup, [visit.T_base_hand for visit in visits], board, [v.T_camera_board for v in visits], camera
    )
    covariance = 0.1**2 * np.linalg.inv(sum(information(problem, X, Y), np.zeros((12, 12))))
    rotation, translation = (float(np.sqrt(np.trace(covariance[part, part]))) for part in (slice(3), slice(3, 6)))
    return VisitPlan(tuple(visits), rotation, translation, unreachable)


def _problem(setup: Setup, poses: Sequence[Array], board: Board, B: Sequence[Array], camera: Camera) -> Problem:
    seen = [board.points @ T[:3, :3].T + T[:3, 3] for T in B]
    flat = [x[:, :2] / x[:, 2:] for x in seen]
    return Problem(robot_poses(setup, poses), [board.points] * len(B), flat, float(camera.K[0, 0]))


def _most_informative(
    setup: Setup, poses: Sequence[Array], board: Board, B: Sequence[Array], camera: Camera, X: Array, Y: Array
) -> list[int]:
    """Indices, each adding most to the determinant of the information about both unknown poses."""
    each = information(_problem(setup, poses, board, B, camera), X, Y)
    total = PRIOR * np.diag(np.mean([np.diag(part) for part in each], axis=0))
    left, order = list(range(len(each))), []
    while left:
        gains = [np.linalg.slogdet(total + each[index])[1] for index in left]
        order.append(left.pop(int(np.argmax(gains))))
        total = total + each[order[-1]]
    return order


def _connected(
    checker: Checker,
    start: Array,
    ranked: Sequence[tuple[Array, Array, Array]],
    count: int,
    speed: float,
    timeout: float,
) -> list[Visit]:
    """The best poses, each time the nearest next, with the motions between them; what is not reached is replaced."""
    waiting, spare = list(ranked[:count]), list(ranked[count:])
    visits: list[Visit] = []
    here = start
    while waiting:
        nearest = int(np.argmin([np.abs(q - here).max() for q, _, _ in waiting]))
        q, T, B = waiting.pop(nearest)
        result = plan(checker, here, q, timeout=timeout, velocity_scaling=speed, acceleration_scaling=speed)
        if result.trajectory is None:
            if spare:
                waiting.append(spare.pop(0))
            continue
        visits.append(Visit(q, T, B, result))
        here = q
    return visits


def _hidden(spheres: Array, T_base_camera: Array, board: Board, T_camera_board: Array) -> bool:
    """Whether the robot stands between the camera and the outline of the board."""
    eye = T_base_camera[:3, 3]
    lower, upper = board.points.min(axis=0)[:2] - board.square, board.points.max(axis=0)[:2] + board.square
    T = T_base_camera @ T_camera_board
    for x, y in [(lower[0], lower[1]), (lower[0], upper[1]), (upper[0], lower[1]), (upper[0], upper[1]),
                 tuple(0.5 * (lower + upper))]:  # fmt: skip
        ray = T[:3, :3] @ [x, y, 0.0] + T[:3, 3] - eye
        length = float(np.linalg.norm(ray))
        direction, offset = ray / length, spheres[:, :3] - eye
        along = np.clip(offset @ direction, NEAR_CAMERA, max(length - NEAR_BOARD, NEAR_CAMERA))
        apart = np.linalg.norm(offset - along[:, None] * direction, axis=1)
        at_camera = np.linalg.norm(offset, axis=1) < spheres[:, 3] + NEAR_CAMERA
        if np.any((apart < spheres[:, 3]) & ~at_camera):
            return True
    return False
