"""The robot's own body taken out of what the camera sees, where it was when the picture was taken."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import kinematics
from ...errors import InputError, ShapeError
from ...geometry import RobotBody
from ...jit import njit
from ...typing import Array
from .voxels import Voxels

STILL = 0.02
"""An arm whose joints move less than this is where it was [rad or m]."""


class NoConfiguration(InputError):
    """Where the robot was at some time is not known."""

    def __init__(self, time_ns: int, oldest_ns: int | None, newest_ns: int | None, *, between: bool = False):
        if between and oldest_ns is not None and newest_ns is not None:
            gap = 1e-6 * (newest_ns - oldest_ns)
            problem = f"it moved in the {gap:.0f} ms between two joint states; publish them more often"
        elif oldest_ns is None or newest_ns is None:
            problem = "no joint positions have arrived; is the robot's driver running?"
        else:
            ago = 1e-6 * (time_ns - newest_ns) if time_ns > newest_ns else 1e-6 * (time_ns - oldest_ns)
            side = "newest" if time_ns > newest_ns else "oldest"
            problem = f"the {side} joint positions are {abs(ago):.0f} ms away; check clocks and rates"
        super().__init__(f"where the robot was at the picture's time is not known: {problem}")
        self.time_ns, self.oldest_ns, self.newest_ns = time_ns, oldest_ns, newest_ns


class JointHistory:
    """Joint positions of the last seconds, to be asked for the one at a picture's time stamp. Safe for threads."""

    def __init__(self, *, length: int = 2000, tolerance: float = 0.05, spacing: float = 0.004, gap: float = 0.1):
        """Prepare.

        Args:
            length: So many samples are kept.
            tolerance: So far beyond the newest and the oldest positions are told [s].
            spacing: Samples nearer to each other than this say nothing new, see `wants` [s].
            gap: Between two samples farther apart than this positions are told only of an arm that stood still [s].
        """
        self._samples: deque[tuple[int, Array]] = deque(maxlen=length)
        self._lock = threading.Lock()
        self._tolerance_ns = round(tolerance * 1e9)
        self._spacing_ns, self._gap_ns = round(spacing * 1e9), round(gap * 1e9)

    @property
    def newest_ns(self) -> int | None:
        """Time of the newest sample [ns]; None before the first."""
        with self._lock:
            return self._samples[-1][0] if self._samples else None

    def wants(self, time_ns: int) -> bool:
        """Whether a sample of this time is worth adding: not right after the last one."""
        newest = self.newest_ns
        return newest is None or not newest <= time_ns < newest + self._spacing_ns

    def add(self, time_ns: int, q: ArrayLike) -> None:
        """Take a sample; when time goes back, such as at a restart, older ones are forgotten."""
        positions = np.array(q, dtype=np.float64)
        if not np.isfinite(positions).all():
            raise InputError("joint positions are not finite; the sample is refused")
        with self._lock:
            if self._samples and time_ns < self._samples[-1][0]:
                self._samples.clear()
            self._samples.append((int(time_ns), positions))

    def at(self, time_ns: int) -> Array:
        """Joint positions at a time, between two samples on the straight line.

        Raises:
            NoConfiguration: The time is too far from what is known, or in a gap that the arm moved in.
        """
        with self._lock:
            samples = list(self._samples)
        times = [time for time, _ in samples]
        if not times:
            raise NoConfiguration(time_ns, None, None)
        if not times[0] - self._tolerance_ns <= time_ns <= times[-1] + self._tolerance_ns:
            raise NoConfiguration(time_ns, times[0], times[-1])
        after = bisect_left(times, time_ns)
        if after == 0:
            return samples[0][1].copy()
        if after == len(times):
            return samples[-1][1].copy()
        (t0, q0), (t1, q1) = samples[after - 1], samples[after]
        if t1 - t0 > self._gap_ns and float(np.abs(q1 - q0).max()) > STILL:
            raise NoConfiguration(time_ns, t0, t1, between=True)
        return q0 + (q1 - q0) * ((time_ns - t0) / max(t1 - t0, 1))


class SelfFilter:
    """Tells points on the robot from others, by its covering spheres."""

    def __init__(self, body: RobotBody, *, padding: float = 0.02, deviations: float = 2.0):
        """Prepare the spheres.

        Args:
            body: What of the robot takes room.
            padding: The spheres are so much larger [m], for shapes and calibration that are not exact.
            deviations: And so many standard deviations of a point's depth more, along the line of sight only.
        """
        if not (0.0 <= padding < 1.0 and 0.0 <= deviations < math.inf):
            raise InputError(f"padding {padding} m, {deviations} deviations; give numbers that are not negative")
        self.body, self.padding, self.deviations = body, padding, deviations
        names = list(body.chain.link_names)
        self._links = np.array([names.index(name) for name in body.link_spheres], dtype=np.int64)
        self._tables = [np.ascontiguousarray(spheres) for spheres in body.link_spheres.values()]

    def spheres_at(self, q: ArrayLike) -> Array:
        """Centres in the base frame and radii [m], unpadded, shape (spheres, 4).

        Args:
            q: Joint positions of the body's chain [rad or m], shape (n,).
        """
        positions = np.asarray(q, dtype=np.float64)
        if positions.shape != (self.body.chain.n,):
            raise ShapeError("q", f"({self.body.chain.n},)", positions.shape)
        poses = kinematics.link_poses(self.body.chain, positions)
        moved = []
        for link, table in zip(self._links, self._tables):
            centres = table[:, :3] @ poses[link, :3, :3].T + poses[link, :3, 3]
            moved.append(np.column_stack([centres, table[:, 3]]))
        return np.concatenate(moved) if moved else np.empty((0, 4))

    def outside(
        self, voxels: Voxels, q: ArrayLike, eye: ArrayLike, *, blur: float = 0.0, beyond: float = 0.0
    ) -> NDArray[np.bool_]:
        """Which points are not on the robot.

        Args:
            voxels: In the base frame of the body's chain.
            q: Joint positions when the picture was taken, shape (n,).
            eye: Where the camera was [m], shape (3,).
            blur: How far matching smears outlines: the robot is thicker by this per metre of distance [rad].
            beyond: And by so much more [m].

        Returns:
            Shape (points,).
        """
        spheres = self.spheres_at(q)
        spheres[:, 3] += self.padding + beyond + 0.5 * voxels.cell
        return np.asarray(
            _outside(
                voxels.xyz.astype(np.float64),
                self.deviations * voxels.sigma.astype(np.float64),
                np.ascontiguousarray(eye, dtype=np.float64),
                spheres,
                blur,
            )
        )


@njit(cache=True, nogil=True)
def _outside(xyz, slack, eye, spheres, blur):  # type: ignore[no-untyped-def]
    """A point may slide by its slack along its line of sight; if that touches a sphere, it is inside."""
    n = xyz.shape[0]
    out = np.ones(n, np.bool_)
    lower, upper = np.full(3, np.inf), np.full(3, -np.inf)
    for k in range(spheres.shape[0]):
        for axis in range(3):
            lower[axis] = min(lower[axis], spheres[k, axis] - spheres[k, 3])
            upper[axis] = max(upper[axis], spheres[k, axis] + spheres[k, 3])
    for i in range(n):
        dx, dy, dz = xyz[i, 0] - eye[0], xyz[i, 1] - eye[1], xyz[i, 2] - eye[2]
        distance = math.sqrt(dx * dx + dy * dy + dz * dz)
        wide = blur * distance
        near = True
        for axis in range(3):
            near &= lower[axis] - slack[i] - wide <= xyz[i, axis] <= upper[axis] + slack[i] + wide
        if not near:
            continue
        if distance > 1e-9:
            dx, dy, dz = dx / distance, dy / distance, dz / distance
        for k in range(spheres.shape[0]):
            px, py, pz = spheres[k, 0] - xyz[i, 0], spheres[k, 1] - xyz[i, 1], spheres[k, 2] - xyz[i, 2]
            square = px * px + py * py + pz * pz
            radius = spheres[k, 3] + wide
            reach = radius + slack[i]
            if square > reach * reach:
                continue
            along = min(max(px * dx + py * dy + pz * dz, -slack[i]), slack[i])
            px, py, pz = px - along * dx, py - along * dy, pz - along * dz
            if px * px + py * py + pz * pz <= radius * radius:
                out[i] = False
                break
    return out
