"""Batched collision checks of configurations and straight motions, against the robot itself and its world."""

from __future__ import annotations

import copy
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, NotFiniteError, ShapeError
from ..model.chain import LARGEST_POSITION
from ..typing import Array
from .body import RobotBody
from .table_builder import scene_of
from .tables import LOSS, SAFETY, SELF_SAFETY, CheckerTables, Padding
from .world import World, WorldSnapshot

SMALLEST_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances of moving links and carried objects to the objects of the world.

    Measured from the covering spheres: never more than the distance of the link's convex parts, and at most the
    overshoot less. A link that may touch every object, or is in an empty world, has the distance infinity and its
    points are undefined.
    """

    links: tuple[str, ...]
    """Names in the order of the second last axis of what follows."""
    distance: NDArray[np.float32]
    """Negative in contact [m], shape (..., links)."""
    point_link: NDArray[np.float32]
    """Nearest point of the link's spheres in the base frame [m], shape (..., links, 3)."""
    point_object: NDArray[np.float32]
    """Nearest point of the object in the base frame [m], shape (..., links, 3)."""
    object_index: NDArray[np.int32]
    """Which object, as an index of `object_names`; -1 for none; shape (..., links)."""
    object_names: tuple[str, ...]


@dataclass(frozen=True)
class RawChecker:
    """Addresses of code and tables, for compiled callers such as Numba.

    `check(scene, q, count, work, out) -> int64`, `edge(scene, a, b, strides, work) -> int64` and
    `edges(scene, a, b, count, step, work, out)`, all addresses as 64-bit numbers: configurations are rows of doubles,
    `out` takes a byte each, `work` is `work_floats` float32 numbers of the calling thread.
    """

    check: int
    check_boxes: int
    """`check_boxes(scene, q, half, slack, count, work, out)`, as `entries` describes it."""
    edge: int
    edge_onwards: int
    """As `edge`, where a is known to be free and is left out."""
    edges: int
    nearest_point: int
    """`nearest_point(table, first, stride, n, count, q)`, as `codegen.nearest` describes it."""
    scene: int
    work_floats: int
    lanes: int
    """An edge is sampled at strides · lanes points."""
    owner: CheckerTables
    """Keep a reference to this object: the addresses are valid as long as it exists."""


class Checker:
    """Collision checks of a robot with itself and with its world.

    Conservative for the body that it is given: a contact between convex parts of a checked pair is reported. It knows
    nothing of pairs that the body leaves out (see `RobotBody`), and links fixed to the base are checked against moving
    links but not against the world, because a base is usually mounted on something.

    False alarms: for single precision, parts are padded by 0.2 mm towards the world and by 0.03 mm towards each other.
    Point clouds and octomaps are checked against the covering spheres of the links, which extend beyond
    them by up to the overshoot.

    Threads may share a checker; the GIL is released while it computes.

    Args:
        padding: Distance to keep to the objects of the world: every link and carried object is padded by it [m].
        self_padding: What links and carried objects are padded by towards each other, each of two [m].
    """

    def __init__(self, body: RobotBody, world: World | None = None, *, padding: float = 0.0, self_padding: float = 0.0):
        self.body, self._padding = body, _checked_padding(padding, self_padding)
        self.world = World() if world is None else world
        from .codegen import engine  # llvmlite takes time to import

        self._code = engine.checker_code()
        self._frames = engine.frames_code(body.chain)
        self._workspace = engine.workspace
        self._lock = threading.Lock()
        self._latest: tuple[WorldSnapshot, CheckerTables] | None = None
        self._padded: dict[Padding, Checker] = {}
        self._original: Checker | None = None

    @property
    def padding(self) -> float:
        """Distance that is kept to the objects of the world [m]."""
        return self._padding.world

    @property
    def self_padding(self) -> float:
        """What links and carried objects are padded by towards each other [m]."""
        return self._padding.own

    def check(self, q: ArrayLike, *, snapshot: WorldSnapshot | None = None) -> NDArray[np.bool_]:
        """Which configurations collide.

        Args:
            q: Joint positions [rad or m], shape (..., n).
            snapshot: The world to check against; the current one when not given.

        Returns:
            True for a collision, shape (...,).
        """
        rows = self._rows(q, "q")
        flat = rows.reshape(-1, rows.shape[-1])
        scene = self.scene(snapshot)
        out = np.empty(len(flat), dtype=np.bool_)
        work = self._workspace(scene.work_vectors)
        bad = self._code.calls["check"](scene.address, flat.ctypes.data, len(flat), work.ctypes.data, out.ctypes.data)
        if bad:
            raise _not_usable("q", rows)
        return out.reshape(rows.shape[:-1])

    def check_boxes(
        self, q: ArrayLike, half_widths: ArrayLike, *, snapshot: WorldSnapshot | None = None
    ) -> NDArray[np.bool_]:
        """Which boxes of configurations are not proved to be free everywhere.

        A box holds all configurations whose joints are within its half widths of its middle. The middle is checked
        with every link thicker by how far its points move inside the box, at most: False is a proof for the robot
        with its padding, True is not one of a collision. Much wider than a few centimetres of motion says little.

        Args:
            q: Middles [rad or m], shape (..., n).
            half_widths: Not negative [rad or m], shape (..., n).

        Returns:
            True where a collision is possible, shape (...,).
        """
        middles, halves = self._rows(q, "q"), self._rows(half_widths, "half_widths")
        try:
            middles, halves = (np.ascontiguousarray(x) for x in np.broadcast_arrays(middles, halves))
        except ValueError:
            text = f"q has shape {middles.shape} and half_widths {halves.shape}; give shapes that broadcast"
            raise InputError(text) from None
        if (halves < 0.0).any():
            raise InputError("a half width is negative; give how far each joint moves from the middle")
        count = middles.size // self.body.chain.n
        scene, out = self.scene(snapshot), np.empty(count, dtype=np.bool_)
        work, slack = self._workspace(scene.work_vectors), np.array([SAFETY - LOSS, 2.0 * (SELF_SAFETY - LOSS)])
        bad = self._code.calls["check_boxes"](
            scene.address, middles.ctypes.data, halves.ctypes.data, slack.ctypes.data, count, work.ctypes.data,
            out.ctypes.data,
        )  # fmt: skip
        if bad:
            raise _not_usable(
                *(("q", middles) if not np.all(np.abs(middles) <= LARGEST_POSITION) else ("half_widths", halves))
            )
        return out.reshape(middles.shape[:-1])

    def collides(self, q: ArrayLike) -> bool:
        """Whether one configuration collides, shape (n,)."""
        row = self._rows(q, "q")
        if row.ndim != 1:
            raise ShapeError("q", f"({self.body.chain.n},); `check` takes batches", row.shape)
        return bool(self.check(row))

    def check_edges(
        self, q_a: ArrayLike, q_b: ArrayLike, step: float, *, snapshot: WorldSnapshot | None = None
    ) -> NDArray[np.bool_]:
        """Which straight motions collide at one of their samples, both ends included.

        A contact between two samples is not detected: choose a step for which no link moves farther than the padding.

        Args:
            q_a: Where the motions begin [rad or m], shape (..., n).
            q_b: Where they end [rad or m], shape (..., n).
            step: Largest distance of neighbouring samples, Euclidean over the joints [rad or m].

        Returns:
            True for a collision, shape (...,).
        """
        if not (isinstance(step, (int, float, np.floating)) and SMALLEST_STEP <= step < np.inf):
            raise InputError(f"step is {step!r}; give a joint distance of at least {SMALLEST_STEP:g}, such as 0.02")
        begin, end = self._rows(q_a, "q_a"), self._rows(q_b, "q_b")
        try:
            begin, end = (np.ascontiguousarray(x) for x in np.broadcast_arrays(begin, end))
        except ValueError:
            raise InputError(f"q_a has shape {begin.shape} and q_b {end.shape}; give shapes that broadcast") from None
        for name, rows in (("q_a", begin), ("q_b", end)):
            if not np.all(np.abs(rows) <= LARGEST_POSITION):
                raise _not_usable(name, rows)
        scene = self.scene(snapshot)
        count = begin.size // begin.shape[-1] if begin.shape[-1] else 0
        out = np.empty(count, dtype=np.bool_)
        work = self._workspace(scene.work_vectors)
        self._code.calls["edges"](
            scene.address, begin.ctypes.data, end.ctypes.data, count, float(step), work.ctypes.data, out.ctypes.data
        )
        return out.reshape(begin.shape[:-1])

    def distances(self, q: ArrayLike, *, snapshot: WorldSnapshot | None = None) -> Distances:
        """Distance of every moving link to the nearest object, with nearest points.

        Args:
            q: Joint positions [rad or m], shape (..., n).
        """
        rows = self._rows(q, "q")
        scene = self.scene(snapshot)
        count, links = rows.size // self.body.chain.n, scene.moving_names
        numbers = np.empty((count, len(links), 7), dtype=np.float32)
        objects = np.empty((count, len(links)), dtype=np.int32)
        work = self._workspace(scene.work_vectors)
        bad = self._code.calls["distances"](
            scene.address, rows.ctypes.data, count, work.ctypes.data, numbers.ctypes.data, objects.ctypes.data
        )
        if bad:
            raise _not_usable("q", rows)
        shape = (*rows.shape[:-1], len(links))
        return Distances(
            links,
            np.where(objects < 0, np.float32(np.inf), numbers[..., 0]).reshape(shape),
            numbers[..., 1:4].reshape(*shape, 3),
            numbers[..., 4:7].reshape(*shape, 3),
            objects.reshape(shape),
            scene.object_names,
        )

    def scene(self, snapshot: WorldSnapshot | None = None) -> CheckerTables:
        """The tables of a snapshot. The latest ones are cached; writing new ones compiles nothing."""
        wanted = self.world.snapshot() if snapshot is None else snapshot
        latest = self._latest
        if latest is not None and latest[0] is wanted:
            return latest[1]
        with self._lock:
            last = None if latest is None else latest[1]
            other = None if self._original is None else self._original.scene(wanted)
            scene = scene_of(self.body, wanted, self._frames, self._padding, last, other)
            self._latest = (wanted, scene)
            return scene

    def padded(self, padding: float, *, self_padding: float = 0.0) -> Checker:
        """The same robot in the same world with another padding; cached.

        Args:
            padding: Towards the objects of the world [m].
            self_padding: Of links and carried objects towards each other, each of two [m].
        """
        wanted = _checked_padding(padding, self_padding)
        if wanted == self._padding:
            return self
        if self._original is not None:
            return self._original.padded(padding, self_padding=self_padding)
        with self._lock:
            found = self._padded.get(wanted)
            if found is None:
                found = copy.copy(self)  # shares the code, which depends on the chain only
                found._padding, found._lock, found._latest, found._padded = wanted, threading.Lock(), None, {}
                found._original = self
                self._padded[wanted] = found
            return found

    def raw(self, snapshot: WorldSnapshot | None = None) -> RawChecker:
        """Addresses for compiled callers."""
        scene, addresses = self.scene(snapshot), self._code.addresses
        return RawChecker(
            check=addresses["check"],
            check_boxes=addresses["check_boxes"],
            edge=addresses["edge"],
            edge_onwards=addresses["edge_onwards"],
            edges=addresses["edges"],
            nearest_point=addresses["nearest_point"],
            scene=scene.address,
            work_floats=scene.work_vectors * self._code.lanes,
            lanes=self._code.lanes,
            owner=scene,
        )

    def _rows(self, q: ArrayLike, name: str) -> Array:
        try:
            rows = np.asarray(q)
        except ValueError as error:
            raise InputError(f"{name} is not a rectangular array of numbers: {error}") from None
        if rows.dtype.kind not in "fiu":
            raise InputError(f"{name} holds {rows.dtype.name} values; give real numbers")
        n = self.body.chain.n
        if rows.ndim < 1 or rows.shape[-1] != n:
            raise ShapeError(name, f"(..., {n})", rows.shape)
        return np.require(rows, np.float64, ["C", "ALIGNED"])


def _checked_padding(padding: float, self_padding: float) -> Padding:
    for name, value in (("padding", padding), ("self_padding", self_padding)):
        if not 0.0 <= value < 1.0:
            raise InputError(f"{name} is {value!r}; give a distance from 0 to 1 m")
    return Padding(float(padding), float(self_padding))


def _not_usable(name: str, rows: NDArray[Any]) -> NotFiniteError:
    index = tuple(int(i) for i in np.argwhere(~(np.abs(rows) <= LARGEST_POSITION))[0])
    return NotFiniteError(name, index, float(rows[index]), LARGEST_POSITION)
