"""Builds reachability maps: on this machine, over its cores, or over a cluster; resumed where it was stopped.

Samples come in numbered blocks, each with its own random numbers. Blocks may be done anywhere and in any order; the
map is the same, bit for bit on processors of one kind.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler import kernels_of
from ..errors import InputError, MissingPackage
from ..ik.bounds import search_bounds
from ..model.chain import Chain
from .grid4 import Grid, make_grid
from .grid6 import PoseGrid, make_pose_grid
from .map_spec import MapSpec, both
from .reach_map import UNKNOWN, ReachMap
from .samples import Measure, Tally, sample_block
from .self_distance import self_distances
from .storage import (
    FORMAT,
    grid_attributes,
    grid_from,
    identity,
    load_map,
    read_archive,
    require_same,
    save_map,
    versions,
    write_archive,
)

GRID_SAMPLES = 200_000
"""Configurations that decide the size of the grid."""
CHECKPOINT = 20.0
"""Seconds between two checkpoints of an unfinished map."""

Progress = Callable[[int, int], None]
"""Called with the number of samples done and of all."""


def build_map(
    spec: MapSpec,
    path: str | os.PathLike[str] | None = None,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
    accept: Measure | None = None,
    quality: Measure | None = None,
) -> ReachMap:
    """Builds the reachability map of an arm.

    Args:
        path: File of the map. An unfinished one is continued; a finished one of the same specification is returned.
        workers: Processes on this machine; 1 stays in this one.
        scheduler: Address of a Dask scheduler, such as "tcp://host:8786", instead of own processes.
        accept: Takes configurations (N, n), returns True for those that count, such as statically stable ones.
        quality: Takes configurations (N, n), returns the measure to maximise per cell instead of the manipulability.

    Raises:
        MapMismatch: The file is a map of another arm, or of another specification.
    """
    chain = spec.chain
    file = None if path is None else Path(path)
    if file is not None and file.exists():
        return _finished(spec, chain, file)
    state = _begin(spec, chain, file)
    todo = [block for block in range(spec.blocks) if block not in state.done]
    if todo:
        saved = time.monotonic()
        for block, part in _parts(spec, state, todo, workers, scheduler, accept, quality):
            if part is not None:
                state.tally.add(part)
            state.done.add(block)
            if progress is not None:
                progress(min(len(state.done) * spec.block, spec.samples), spec.samples)
            if file is not None and time.monotonic() - saved > CHECKPOINT:
                state.save(spec, chain, file)
                saved = time.monotonic()
    urdf = hashlib.sha256(spec.robot.urdf.encode()).hexdigest()
    attributes = {**spec.settings(), "urdf": urdf, "verify": spec.verify}
    tables = state.tally.sparse()
    if spec.self_collision:
        tables["clearance"] = self_distances(spec.checker.body, tables["seed"])
    reach = ReachMap.of_tables(chain, state.grid, tables, attributes)
    if spec.verify:
        verify_edges(reach, spec.verify, spec.seed, collides=spec.collides)
    if file is not None:
        save_map(reach, file)
        file.with_name(file.name + ".part").unlink(missing_ok=True)
    return reach


def verify_edges(reach: ReachMap, poses: int, seed: int = 0, *, collides: Measure | None = None) -> None:
    """Solves inverse kinematics for random poses in every edge cell and writes the reachable share into the map."""
    edge = reach.edge
    rng, found = np.random.default_rng([seed, 7]), np.zeros(len(edge))
    for _ in range(poses):
        found += reach.solvable(reach.edge_poses(rng), collides)
    reach.set_share(edge, np.round(found / poses * (UNKNOWN - 1)).astype(np.uint8))


@dataclass(eq=False)
class _State:
    grid: Grid | PoseGrid
    tally: Tally
    done: set[int]

    def save(self, spec: MapSpec, chain: Chain, file: Path) -> None:
        attributes = {
            "format": FORMAT,
            "identity": identity(chain),
            "grid": grid_attributes(self.grid),
            "settings": spec.settings(),
            "versions": versions(),
            "done": sorted(self.done),
        }
        write_archive(file.with_name(file.name + ".part"), attributes, self.tally.sparse())


def _finished(spec: MapSpec, chain: Chain, file: Path) -> ReachMap:
    """The finished map of the file, if it has this specification."""
    found = load_map(file, chain)
    ours = {**spec.settings(), "verify": spec.verify, "resolution": spec.resolution}
    require_same(file, {**found.attributes, "resolution": found.grid.resolution}, ours)
    return found


def _begin(spec: MapSpec, chain: Chain, file: Path | None) -> _State:
    """An empty state, or the checkpoint of the same specification."""
    bounds = search_bounds(chain, True)
    q = np.random.default_rng([spec.seed, 1 << 40]).uniform(bounds.lower, bounds.upper, (GRID_SAMPLES, chain.n))
    make = make_grid if spec.index == "4d" else make_pose_grid
    grid = make(chain, spec.resolution, spec.tilts, kernels_of(chain).forward.run(q))
    state = _State(grid, Tally.empty(grid, chain.n), set())
    part = None if file is None else file.with_name(file.name + ".part")
    if part is None or not part.exists():
        return state
    attributes, tables = read_archive(part)
    require_same(part, attributes["identity"], identity(chain))
    ours = {**spec.settings(), "resolution": spec.resolution}
    theirs = {**attributes["settings"], "resolution": grid_from(attributes["grid"]).resolution}
    require_same(part, theirs, ours)
    state.tally.add(tables)
    state.done.update(attributes["done"])
    return state


def _block(spec: MapSpec, grid: Grid | PoseGrid, block: int) -> dict[str, NDArray[Any]]:
    """One block, in any process."""
    tally = Tally.empty(grid, spec.chain.n)
    sample_block(
        spec.chain, grid, tally, spec.seed, block, spec.size_of(block), collides=spec.collides, accept=spec.accept
    )
    return tally.sparse()


def _parts(
    spec: MapSpec,
    state: _State,
    todo: list[int],
    workers: int,
    scheduler: str | None,
    accept: Measure | None,
    quality: Measure | None,
) -> Iterator[tuple[int, dict[str, NDArray[Any]] | None]]:
    """Blocks as they are done; None for those that went straight into the state's tally."""
    if scheduler is not None:
        yield from _by_dask(spec, state.grid, todo, scheduler)
    elif workers > 1:
        if accept is not None or quality is not None:
            raise InputError("accept and quality stay in this process; use workers=1 with them")
        from multiprocessing import get_context

        # Not forked: threads of a parent's libraries would be lost in the children.
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            jobs = {pool.submit(_block, spec, state.grid, block): block for block in todo}
            for job in as_completed(jobs):
                yield jobs.pop(job), job.result()
    else:
        for block in todo:
            sample_block(
                spec.chain, state.grid, state.tally, spec.seed, block, spec.size_of(block),
                collides=spec.collides, accept=both(spec.accept, accept), quality=quality,
            )  # fmt: skip
            yield block, None


def _by_dask(
    spec: MapSpec, grid: Grid | PoseGrid, todo: list[int], scheduler: str
) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise MissingPackage("distributed", "a cluster", "big") from None
    with distributed.Client(scheduler) as client:
        shared_spec, shared_grid = client.scatter([spec, grid], broadcast=True)
        jobs = {client.submit(_block, shared_spec, shared_grid, block, pure=False, retries=10): block for block in todo}
        for job in distributed.as_completed(list(jobs)):
            yield jobs[job], job.result()
            job.release()
