"""Self filter: removes points on the robot, at its joint positions at the time of the image."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import kinematics
from ...errors import InputError, ShapeError
from ...geometry import AttachedObject, RobotBody
from ...geometry.table_builder import carried_spheres
from ...jit import njit
from ...typing import Array
from .voxels import Voxels

STILL = 0.02
"""Joint motion below which the arm counts as standing still [rad or m]."""


class NoConfiguration(InputError):
    """The joint positions at a time are not known."""

    def __init__(self, time_ns: int, oldest_ns: int | None, newest_ns: int | None, *, between: bool = False):
        if between and oldest_ns is not None and newest_ns is not None:
            gap = 1e-6 * (newest_ns - oldest_ns)
            problem = f"the arm moved in the {gap:.0f} ms between two joint states; publish them more often"
        elif oldest_ns is None or newest_ns is None:
            problem = "no joint states received; is the robot's driver running?"
        else:
            ago = 1e-6 * (time_ns - newest_ns) if time_ns > newest_ns else 1e-6 * (time_ns - oldest_ns)
            side = "newest" if time_ns > newest_ns else "oldest"
            problem = f"the {side} joint state is {abs(ago):.0f} ms away; check clocks and rates"
        super().__init__(f"no joint positions at the time of the image: {problem}")
        self.time_ns, self.oldest_ns, self.newest_ns = time_ns, oldest_ns, newest_ns


class JointHistory:
    """Buffer of recent joint positions, interpolated at the time stamp of an image. Thread-safe."""

    def __init__(self, *, length: int = 2000, tolerance: float = 0.05, spacing: float = 0.004, gap: float = 0.1):
        """Create an empty buffer.

        Args:
            length: Number of samples kept.
            tolerance: Extrapolation allowed beyond the oldest and newest sample [s].
            spacing: Minimum time between samples, see `needs_sample` [s].
            gap: Between samples farther apart than this, positions are interpolated only if the arm stood still [s].
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

    def needs_sample(self, time_ns: int) -> bool:
        """Whether a sample at this time should be added: not within `spacing` of the newest one."""
        newest = self.newest_ns
        return newest is None or not newest <= time_ns < newest + self._spacing_ns

    def add(self, time_ns: int, q: ArrayLike) -> None:
        """Add a sample; when time goes back, such as at a restart, older samples are dropped."""
        positions = np.array(q, dtype=np.float64)
        if not np.isfinite(positions).all():
            raise InputError("joint positions are not finite; the sample is rejected")
        with self._lock:
            if self._samples and time_ns < self._samples[-1][0]:
                self._samples.clear()
            self._samples.append((int(time_ns), positions))

    def at(self, time_ns: int) -> Array:
        """Joint positions at a time, linearly interpolated.

        Raises:
            NoConfiguration: The time is too far from the samples, or in a gap in which the arm moved.
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
    """Separates points on the robot and on what it carries from others, by the spheres that cover them."""

    def __init__(
        self,
        body: RobotBody,
        *,
        padding: float = 0.02,
        deviations: float = 2.0,
        attached: Sequence[AttachedObject] = (),
    ):
        """Create the filter.

        Args:
            body: Collision model of the robot.
            padding: Enlargement of the spheres [m], for inexact shapes and calibration.
            deviations: Standard deviations of a point's depth added along the line of sight only.
            attached: Objects that move with links.
        """
        if not (0.0 <= padding < 1.0 and 0.0 <= deviations < math.inf):
            raise InputError(f"padding {padding} m, {deviations} deviations; give non-negative numbers")
        self.body, self.padding, self.deviations = body, padding, deviations
        names = list(body.chain.link_names)
        tables = [*body.link_spheres.items(), *((item.link, carried_spheres(body, item)) for item in attached)]
        self._links = np.array([names.index(link) for link, _ in tables], dtype=np.int64)
        self._tables = [np.ascontiguousarray(spheres) for _, spheres in tables]

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
        self, voxels: Voxels, q: ArrayLike, viewpoint: ArrayLike, *, blur: float = 0.0, extra_padding: float = 0.0
    ) -> NDArray[np.bool_]:
        """Which points are not on the robot.

        Args:
            voxels: In the base frame of the body's chain.
            q: Joint positions at the time of the image, shape (n,).
            viewpoint: Camera position [m], shape (3,).
            blur: Angle by which matching smears outlines: padding per metre of distance [rad].
            extra_padding: Further padding [m].

        Returns:
            Shape (points,).
        """
        spheres = self.spheres_at(q)
        spheres[:, 3] += self.padding + extra_padding + 0.5 * voxels.cell
        return np.asarray(
            _outside(
                voxels.xyz.astype(np.float64),
                self.deviations * voxels.sigma.astype(np.float64),
                np.ascontiguousarray(viewpoint, dtype=np.float64),
                spheres,
                blur,
            )
        )


@njit(cache=True, nogil=True)
def _outside(xyz, slack, viewpoint, spheres, blur):  # type: ignore[no-untyped-def]
    """A point is inside if it touches a sphere within its slack along the line of sight."""
    n = xyz.shape[0]
    out = np.ones(n, np.bool_)
    lower, upper = np.full(3, np.inf), np.full(3, -np.inf)
    for k in range(spheres.shape[0]):
        for axis in range(3):
            lower[axis] = min(lower[axis], spheres[k, axis] - spheres[k, 3])
            upper[axis] = max(upper[axis], spheres[k, axis] + spheres[k, 3])
    for i in range(n):
        dx, dy, dz = xyz[i, 0] - viewpoint[0], xyz[i, 1] - viewpoint[1], xyz[i, 2] - viewpoint[2]
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
