"""The numeric solver of one chain and task: compiled iteration, seed table, and a workspace per thread."""

from __future__ import annotations

import functools
import math
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..compiler import Task, mechanism_of
from ..compiler.algorithms.ik_step import SETTINGS, STATE, Variant
from ..compiler.llvm import iterate
from ..model.chain import Chain
from ..typing import Array
from .bounds import Bounds, Reach, reach, search_bounds, to_winding
from .inputs import POSE_DEFECT, NotAPose, checked_poses, pose_defects
from .result import IKResult, IKStatus
from .seed_table import SeedTable, table_for

_SOLVED, _LEAST_SQUARES = IKStatus.SOLVED, IKStatus.LEAST_SQUARES

QUICK_STARTS = 64
"""Starts with few iterations each; nearly every pose is solved by the first or the second."""
POLISHED = 1e-10
"""Errors [m and rad] that polishing aims at."""
BEST_MARGIN = 0.9
"""Share of a tolerance that the solver aims at, so that another program's rounding does not put a solution outside."""


@dataclass(frozen=True)
class IKTolerances:
    """When a pose is reached."""

    position: float = 1e-6
    """[m]"""
    orientation: float = 1e-6
    """[rad]"""


@dataclass(frozen=True)
class TaskWeights:
    """Task and its weights; hashable, so that solvers can be kept by it."""

    task: Task = Task.POSE
    numbers: tuple[float, ...] = (0.0,) * 6
    """Six row weights (`Task.WEIGHTED`), or the axis in the tip frame and three zeros (`Task.AXIS`)."""


class SearchMemory(threading.local):
    """Memory that two searches at a time must not share: aligned rows for the lanes, and a row for the result."""

    def __init__(self, n: int, lanes: int):
        rows = n + 12 + len(STATE)
        size, align = rows * lanes * 8, lanes * 8
        memory = np.zeros(size + align, dtype=np.uint8)
        offset = -memory.ctypes.data % align
        self.lanes = memory[offset : offset + size].view(np.float64).reshape(rows, lanes)
        self.out = np.zeros(n + 5)
        self.target = np.zeros((1, 4, 4))


class NumericSolver:
    """Searches one chain for one task; safe to use from several threads."""

    def __init__(self, chain: Chain, limits: bool, task_weights: TaskWeights, tolerances: IKTolerances):
        from . import simd_search  # Numba takes time to import

        self._search_one, self._search_many = simd_search.search_one, simd_search.search_many
        self._quick, self._thorough, self._defects_of = simd_search.QUICK, simd_search.THOROUGH, simd_search.defects_of
        self.n = chain.n
        self.bounds: Bounds = search_bounds(chain, limits)
        mechanism = mechanism_of(chain)
        self.reach: Reach = reach(mechanism, search_bounds(chain, False))
        variant = Variant(task_weights.task, self.bounds.stops)
        self.iteration = iterate.load(variant.signature(), ("q", "state"), variant.formula(mechanism))
        self.table: SeedTable = table_for(chain)
        self._numbers = np.zeros((simd_search.NUMBERS, max(chain.n, len(SETTINGS))))
        self._set_numbers(task_weights, tolerances)
        self.work = SearchMemory(chain.n, self.iteration.lanes)
        self._no_seed = np.zeros((1, chain.n))

    def _set_numbers(self, task_weights: TaskWeights, tolerances: IKTolerances) -> None:
        rows, n = self._numbers, self.n
        rows[0, :n], rows[1, :n] = self.bounds.lower, self.bounds.upper
        rows[2, :n] = even_strides(n)
        per_position = 1.0 / (BEST_MARGIN * tolerances.position) ** 2
        per_rotation = 1.0 / (BEST_MARGIN * tolerances.orientation) ** 2
        rows[3, : len(SETTINGS)] = 0.03, 25.0, per_position, per_rotation, 3.0, 0.9, 1.5
        rows[4, : len(SETTINGS)] = 0.03, 40.0, per_position, per_rotation, 8.0, 0.95, 1.5
        rows[5, :6] = task_weights.numbers
        self._strict = rows.copy()
        self._strict[4, 2:4] = 1.0 / POLISHED**2

    def one(self, T: Array, q_seed: Array | None = None) -> IKResult:
        """Quick starts for one pose (4, 4); the caller's seed, if given, runs alone at first.

        The status is SOLVED or LEAST_SQUARES: no reason is determined here.
        """
        if q_seed is None:
            return self._one(T, self._no_seed, self._quick, 0, QUICK_STARTS)
        return self._one(T, q_seed[None], self._quick, -1, QUICK_STARTS)

    def one_thoroughly(self, T: Array, first: int, starts: int) -> IKResult:
        """Thorough starts for one pose, from number `first` on."""
        return self._one(T, self._no_seed, self._thorough, first, first + starts)

    def _one(self, T: Array, own: Array, settings: int, begin: int, end: int) -> IKResult:
        work, table, n = self.work, self.table, self.n
        out = work.out
        work.target[0] = T
        verdict = self._search_one(
            self.iteration.address, work.lanes, self._numbers, table.candidates, table.frame, own, work.target,
            settings, begin, end, n, out,
        )  # fmt: skip
        if verdict < 0:
            checked_poses(work.target[0], "T", batch=False)  # raises with the reason, finite numbers first
            raise NotAPose("T", float(pose_defects(work.target[0])))
        q, (position, rotation, iterations, starts, _) = out[:n].copy(), out[n:].tolist()
        status = _SOLVED if verdict > 0 else _LEAST_SQUARES
        angle = 4.0 * math.atan(0.25 * math.sqrt(rotation))
        return IKResult(q, status, math.sqrt(position), angle, int(iterations), int(starts))

    def many(self, T: Array, q_seeds: Array | None = None) -> tuple[NDArray[np.bool_], Array]:
        """Quick starts for every pose (N, 4, 4), writable and contiguous.

        Returns:
            Which are solved (N,); and q, errors of position [m] and orientation [rad], iterations and starts, side by
            side, (N, n + 4).
        """
        next_start = np.full(len(T), 0 if q_seeds is None else -1)
        return self._many(T, q_seeds, self._numbers, next_start, self._quick, QUICK_STARTS)

    def many_threaded(self, T: Array, q_seeds: Array | None, threads: int) -> tuple[NDArray[np.bool_], Array]:
        """`many`, the poses split over threads; the search releases the interpreter lock."""
        if threads < 2 or len(T) < 2 * threads:
            return self.many(T, q_seeds)
        from concurrent.futures import ThreadPoolExecutor  # slow to import, rarely used

        parts = np.array_split(np.arange(len(T)), threads)
        cuts = [slice(part[0], part[-1] + 1) for part in parts]
        with ThreadPoolExecutor(threads) as pool:
            results = list(pool.map(lambda cut: self.many(T[cut], None if q_seeds is None else q_seeds[cut]), cuts))
        return np.concatenate([r[0] for r in results]), np.concatenate([r[1] for r in results])

    def accept(self, T: object) -> Array | None:
        """The poses themselves if they are a plain batch (N, 4, 4) in SE(3); None if they need a closer check."""
        if not isinstance(T, np.ndarray) or T.dtype != np.float64 or T.ndim != 3 or T.shape[1:] != (4, 4):
            return None
        poses = T if T.flags.c_contiguous and T.flags.writeable else T.copy()
        defects = np.empty(len(poses))
        self._defects_of(poses, defects)
        return poses if (defects <= POSE_DEFECT).all() else None

    def each_start(self, T: Array, first: int, count: int) -> tuple[NDArray[np.bool_], Array]:
        """Where each of the starts `first` … of one pose (4, 4) ends; as `many`, a row per start."""
        poses = np.ascontiguousarray(np.broadcast_to(T, (count, 4, 4)))
        return self._many(poses, None, self._numbers, np.arange(first, first + count), self._quick, 1)

    def polish(self, T: Array, q: Array) -> tuple[NDArray[np.bool_], Array]:
        """Candidates (N, n) of one pose (4, 4) taken to the last digits from where they are; as `many`."""
        poses = np.ascontiguousarray(np.broadcast_to(T, (len(q), 4, 4)))
        return self.follow(poses, q)

    def follow(self, T: Array, q: Array) -> tuple[NDArray[np.bool_], Array]:
        """One start per pose (N, 4, 4), from its own q (N, n), to the last digits; as `many`."""
        seeds = to_winding(q, self.bounds)
        return self._many(T, seeds, self._strict, np.full(len(q), -1), self._thorough, 1)

    def _many(
        self,
        T: Array,
        q_seeds: Array | None,
        numbers: Array,
        next_start: NDArray[np.int64],
        settings: int,
        budget: int,
    ) -> tuple[NDArray[np.bool_], Array]:
        count, n = len(T), self.n
        own = np.zeros((0, n)) if q_seeds is None else q_seeds
        solved, error = np.zeros(count, dtype=bool), np.full(count, np.inf)
        out = np.zeros((count, n + 4))
        self._search_many(
            self.iteration.address, self.work.lanes, numbers, self.table.candidates, self.table.frame,
            own, T, settings, next_start, budget, n, solved, error, out,
        )  # fmt: skip
        out[:, n] = np.sqrt(out[:, n])
        out[:, n + 1] = 4.0 * np.arctan(0.25 * np.sqrt(out[:, n + 1]))
        return solved, out


def even_strides(n: int) -> Array:
    """Strides of a sequence that fills the unit cube of n dimensions evenly.

    Powers of the root of x^(n+1) = x + 1 (Roberts 2018), the golden ratio for n = 1.
    """
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (n + 1))
    return root ** -np.arange(1.0, n + 1)


@functools.lru_cache(maxsize=64)
def solver_for(
    chain: Chain,
    limits: bool = True,
    task_weights: TaskWeights = TaskWeights(),
    tolerances: IKTolerances = IKTolerances(),
) -> NumericSolver:
    """The chain's solver, made at the first use; the most recent ones are kept."""
    return NumericSolver(chain, limits, task_weights, tolerances)


@functools.lru_cache(maxsize=64)
def usual_solver(chain: Chain) -> NumericSolver:
    """`solver_for` with its defaults, found by the chain's identity alone, which is ten times as fast."""
    return solver_for(chain)
