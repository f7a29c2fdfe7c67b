"""Arms, obstacles, command streams, singular lines, and PyBullet as contact check, for the servo benchmark."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pybullet
from problems import Array

import manipapy_core
from manipapy_core import Robot, kinematics, lie
from manipapy_core.compiler import kernels_of
from manipapy_core.geometry import Box, Checker, RobotBody, World

DT = 0.004
"""Time of a cycle [s]."""
ARMS = {"ur5": ("base_link", "tool0"), "panda": ("panda_link0", "panda_hand_tcp")}
HOME = {
    "ur5": np.array([0.0, -1.2, 1.2, -1.57, -1.57, 0.0]),
    "panda": np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]),
}
NEAR = 0.06
"""Distance within which PyBullet is asked for distances [m]."""
REACH = 1.5
"""No point of these arms is farther from any of their axes [m]."""
CLEAR = 0.03
"""Distance between the arm and the obstacles at the start of a stream [m]."""


def urdf(name: str) -> str:
    return str(Path(manipapy_core.__file__).parent / "model" / "robots" / f"{name}.urdf")


@dataclass(frozen=True, eq=False)
class Scene:
    """One arm among boxes, at a free configuration."""

    robot: Robot
    body: RobotBody
    world: World
    q: Array
    boxes: list[tuple[Array, Array]] = field(default_factory=list)
    """Full lengths and centre [m]."""

    @classmethod
    def random(cls, name: str, count: int, rng: np.random.Generator, body: RobotBody, robot: Robot) -> Scene:
        bare, limits = Checker(body), body.chain.limits
        q = HOME[name]
        for _ in range(100):
            beside = np.clip(HOME[name] + rng.uniform(-0.5, 0.5, len(q)), limits.lower + 0.1, limits.upper - 0.1)
            if not bare.padded(0.0, self_padding=0.003).collides(beside):
                q = beside
                break
        world, boxes = World(), []
        clear = Checker(body, world, padding=CLEAR)
        while len(boxes) < count:
            angle, distance = rng.uniform(-np.pi, np.pi), rng.uniform(0.3, 0.85)
            at = np.array([distance * np.cos(angle), distance * np.sin(angle), rng.uniform(0.0, 1.0)])
            size, T = rng.uniform(0.05, 0.2, 3), np.eye(4)
            T[:3, 3] = at
            world.add(f"box {len(boxes)}", Box(size), T)
            if clear.collides(q):
                world.remove(f"box {len(boxes)}")
            else:
                boxes.append((size, at))
        return cls(robot, body, world, q, boxes)


def random_twists(seconds: float, rng: np.random.Generator) -> list[Array]:
    """A twist per cycle: constant for 0.2 to 2 s, then another, some of them zero or beyond every limit."""
    twists: list[Array] = []
    while len(twists) < seconds / DT:
        twist = rng.normal(size=6) * np.array([0.6, 0.6, 0.6, 0.2, 0.2, 0.2])
        twist *= rng.choice([0.0, 0.3, 1.0, 1.0, 1.0, 5.0])
        twists += [twist] * round(rng.uniform(0.2, 2.0) / DT)
    return twists[: round(seconds / DT)]


class ContactCheck:
    """Counts contacts of configurations with boxes and of the arm with itself, by PyBullet's own shapes."""

    def __init__(self, name: str, joint_names: tuple[str, ...], home: Array):
        self._client = pybullet.connect(pybullet.DIRECT)
        self._arm = pybullet.loadURDF(urdf(name), useFixedBase=True, physicsClientId=self._client)
        count = pybullet.getNumJoints(self._arm, physicsClientId=self._client)
        infos = [pybullet.getJointInfo(self._arm, j, physicsClientId=self._client) for j in range(count)]
        index = {info[1].decode(): info[0] for info in infos}
        self._joints = [index[joint] for joint in joint_names]
        parents = {info[0]: info[16] for info in infos}
        shaped = [
            link for link in range(-1, count)
            if pybullet.getCollisionShapeData(self._arm, link, physicsClientId=self._client)
        ]  # fmt: skip
        self._boxes: list[int] = []
        self._pairs: list[tuple[int, int]] = []
        self._set(home)
        for i, a in enumerate(shaped):
            for b in shaped[i + 1 :]:
                if parents.get(b) != a and parents.get(a) != b and not self._near(self._arm, self._arm, a, b, 0.0):
                    self._pairs.append((a, b))
        self._moving = [link for link in shaped if self._moves(link, parents, infos)]

    def place(self, boxes: list[tuple[Array, Array]]) -> None:
        """The obstacles of a scene, in place of those before."""
        for box in self._boxes:
            pybullet.removeBody(box, physicsClientId=self._client)
        self._boxes = []
        for size, at in boxes:
            shape = pybullet.createCollisionShape(
                pybullet.GEOM_BOX, halfExtents=(0.5 * size).tolist(), physicsClientId=self._client
            )
            self._boxes.append(
                pybullet.createMultiBody(0, shape, basePosition=at.tolist(), physicsClientId=self._client)
            )
        count = len(self._boxes) + len(self._pairs)
        self._at, self._apart = np.zeros((count, len(self._joints))), np.full(count, -1.0)

    def contacts(self, q: Array) -> int:
        """Pairs that overlap; PyBullet is not asked again for a pair until the arm can have moved by its distance."""
        asked = np.flatnonzero(np.abs(q - self._at).sum(axis=1) * REACH >= self._apart)
        if len(asked):
            self._set(q)
        for k in asked.tolist():
            self._at[k], self._apart[k] = q, self._distance(k)
        return int((self._apart < 0.0).sum())

    def _distance(self, k: int) -> float:
        """Of a pair, boxes first, as far as it is within `NEAR`."""
        links: tuple[int, ...] = ()
        second = self._arm
        if k < len(self._boxes):
            second = self._boxes[k]
        else:
            links = self._pairs[k - len(self._boxes)]
        found = pybullet.getClosestPoints(self._arm, second, NEAR, *links, physicsClientId=self._client)
        return float(min((point[8] for point in found if links or point[3] in self._moving), default=NEAR))

    def _near(self, first: int, second: int, a: int, b: int, distance: float) -> bool:
        found = pybullet.getClosestPoints(first, second, distance, a, b, physicsClientId=self._client)
        return any(point[8] < 0.0 for point in found)

    def _set(self, q: Array) -> None:
        for joint, value in zip(self._joints, q):
            pybullet.resetJointState(self._arm, joint, value, physicsClientId=self._client)

    @staticmethod
    def _moves(link: int, parents: dict[int, int], infos: list[tuple[object, ...]]) -> bool:
        while link >= 0:
            if infos[link][2] != pybullet.JOINT_FIXED:
                return True
            link = parents[link]
        return False


def base_jacobian(chain: object, q: Array) -> Array:
    """Of the tip, in base axes, angular first, shape (6, n)."""
    J, R = kernels_of(chain).body_jacobian.run(q), kernels_of(chain).forward.run(q)[:3, :3]
    return np.concatenate([R @ J[:3], R @ J[3:]])


FARTHEST = 0.5
"""Joint distance between two solutions along a line beyond which it does not continue [rad]."""
SINGULAR = {
    "ur5": {"wrist": [0.0, -1.2, 1.5, -0.8, 0.0, 0.3], "elbow": [0.0, -1.0, 0.0, -0.5, -1.2, 0.0],
            "shoulder": [0.0, None, 2.0, -0.5, -1.2, 0.3]},
    "panda": {"wrist": [0.2, 0.3, 0.3, -2.0, np.pi / 2, 0.02, 0.5], "elbow": [0.1, 0.3, 0.2, -0.08, 0.3, 1.9, 0.2],
              "shoulder": [0.3, 0.0, np.pi / 2, -1.8, 0.4, 1.9, 0.2]},
}  # fmt: skip
"""Singular configurations; None: where the determinant is zero."""


def singular_configuration(name: str, kind: str, chain: object) -> Array:
    values = SINGULAR[name][kind]
    q = np.array([0.0 if value is None else value for value in values])
    if None in values:
        j, grid = values.index(None), np.linspace(-2.8, -0.3, 2000)

        def determinant(x: float) -> float:
            q[j] = x
            return float(np.linalg.det(base_jacobian(chain, q)))

        signs = np.sign([determinant(x) for x in grid])
        low, high = grid[np.flatnonzero(np.diff(signs))[0] + np.array([0, 1])]
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if np.sign(determinant(middle)) == np.sign(determinant(low)) else (low, middle)
        q[j] = 0.5 * (low + high)
    return q


def _beside(chain: object, target: Array, q: Array) -> Array | None:
    """The configuration nearby that has the tip at a pose, by damped least squares; None if it does not converge."""
    limits, damping = chain.limits, 1e-4
    for _ in range(200):
        T = kinematics.forward(chain, q)
        error = np.r_[lie.log_so3(target[:3, :3] @ T[:3, :3].T), target[:3, 3] - T[:3, 3]]
        if np.linalg.norm(error) < 1e-6:
            return q
        J = base_jacobian(chain, q)
        q = q + J.T @ np.linalg.solve(J @ J.T + damping * min(1.0, float(error @ error) * 1e4) * np.eye(6), error)
        q = np.clip(q, limits.lower, limits.upper)
    return None


def possible_lines(chain: object, q: Array, checker: Checker, count: int, length: float, seed: int) -> list[Array]:
    """Directions of straight lines with fixed orientation through a configuration, or beginning at it, that inverse
    kinematics can follow on both sides (or on one); each as (direction, both sides), shape (4,)."""
    rng, T = np.random.default_rng(seed), kinematics.forward(chain, q)
    lost = np.linalg.svd(base_jacobian(chain, q))[0][3:, -1]
    found: list[Array] = []

    def reached(direction: Array) -> bool:
        last = q
        for share in np.linspace(0.1, 1.0, 10):
            target = T.copy()
            target[:3, 3] += share * length * direction
            after = _beside(chain, target, last)
            # A far solution is another branch, not the way on.
            if after is None or np.abs(after - last).max() > FARTHEST or checker.collides(after):
                return False
            last = after
        return True

    for trial in range(60):
        direction = rng.normal(size=3)
        if trial % 2 and np.linalg.norm(lost) > 1e-3:
            direction -= lost * (direction @ lost) / (lost @ lost)  # not along what is lost
        direction /= np.linalg.norm(direction)
        if reached(direction):
            found.append(np.r_[direction, float(reached(-direction))])
        if len(found) == count:
            break
    return found
