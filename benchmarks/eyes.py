"""Depth images with the measured noise of a real camera to obstacles: what is covered, and what it costs.

Random tables with boxes, cans, balls and flat tools (`test/perception/depth_scenes.py`: noise, holes, quantisation,
pixels along outlines), from above and obliquely, several noisy frames each. Both pipelines get the same frames in one
run. The plain one is a voxel grid by `numpy.unique`, RANSAC for one plane and scikit-learn's DBSCAN, with the same
cells, crop box, eps, min_samples and min_points, and hulls padded as ours. Not like for like: it has no tracks, no
noise model and no second plane, and its clusters end where the points end.

A measured point of an object counts as covered if it lies in a hull of that frame; all frames count, the first
included. An object is lost in a frame if less than half of its points are covered. An obstacle floats if its hull ends
more than 2 cm above the table. A phantom is an obstacle without a point of an object. Times are CPU milliseconds of the
calling thread, medians; those of the stereo pair are on the simulated table of `make bench-perception`.

Pairs of the same objects, 2 cm apart or touching, are separated if most of each is in a cluster of its own, in the
first frame. Pairs of which one is hardly visible (fewer than 150 pixels) are not counted.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from measure import machine, version_of
from perception_peers import numpy_voxel_means
from report import Report

# The scenes of the tests: their package comes before the benchmark of the same name.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "test"))

from close_pairs import pair_apart, separated

from manipapy_core.errors import InputError
from manipapy_core.geometry import ConvexMesh
from manipapy_core.perception import (
    DepthImage,
    PerceptionPipeline,
    PerceptionSettings,
    StereoPair,
)
from perception.depth_scenes import DepthScene, Solid, ball, box, camera_at, can, inside, points_of

SETTINGS = PerceptionSettings(lower=(-0.6, -0.45, -0.2), upper=(0.6, 0.45, 0.8))
GAP = 0.06
"""Between objects [m]."""
MIN_PIXELS = 150
"""Objects with fewer measured pixels, and those that the border of the image cuts off, are not counted."""
FLOATING = 0.02
"""[m]"""


@dataclass
class Tally:
    """Results of one pipeline."""

    frames: list[float] = field(default_factory=list)
    """Share of all object points covered, by frame."""
    objects: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    """Share covered in each frame, by scene and object."""
    floating: int = 0
    phantoms: set[tuple[int, int]] = field(default_factory=set)
    milliseconds: list[float] = field(default_factory=list)

    @property
    def lost(self) -> int:
        return sum(share < 0.5 for shares in self.objects.values() for share in shares)

    def add(self, scene: int, named: dict[int, np.ndarray], every: np.ndarray, hulls: dict[int, ConvexMesh]) -> None:
        """Results of a frame: points of each object that counts, those of all objects, hulls of each obstacle."""
        covered = {number: inside(points, list(hulls.values())) for number, points in named.items()}
        for number, flags in covered.items():
            self.objects.setdefault((scene, number), []).append(float(flags.mean()))
        if covered:
            self.frames.append(float(np.concatenate(list(covered.values())).mean()))
        for name, hull in hulls.items():
            self.floating += bool(hull.vertices[:, 2].min() > FLOATING)
            if not inside(every, [hull]).any():
                self.phantoms.add((scene, name))


class PlainPipeline:
    """Voxel grid, RANSAC, DBSCAN."""

    def run(self, frame: DepthImage) -> dict[int, ConvexMesh]:
        cells, labels = self.cluster(frame)
        hulls = {}
        for label in range(labels.max(initial=-1) + 1):
            own = cells[labels == label]
            if len(own) >= SETTINGS.clusters.min_points:
                corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
                hulls[label] = ConvexMesh((own[:, None] + 0.0075 * corners).reshape(-1, 3))
        return hulls

    def cluster(self, frame: DepthImage) -> tuple[np.ndarray, np.ndarray]:
        """Points without the plane, and their labels."""
        from sklearn.cluster import DBSCAN

        points = points_of(frame, np.isfinite(frame.depth))
        points = points[np.all((points >= SETTINGS.lower) & (points <= SETTINGS.upper), axis=1)]
        cells = numpy_voxel_means(points, SETTINGS.voxel_size)
        cells = cells[~self._plane(cells)]
        chosen = SETTINGS.clusters
        return cells, DBSCAN(eps=chosen.eps, min_samples=chosen.min_samples).fit_predict(cells)

    def _plane(self, cells: np.ndarray, threshold: float = 0.01, tries: int = 120) -> np.ndarray:
        random, best = np.random.default_rng(0), np.zeros(len(cells), np.bool_)
        for _ in range(tries):
            a, b, c = cells[random.choice(len(cells), 3, replace=False)]
            normal = np.cross(b - a, c - a)
            length = np.linalg.norm(normal)
            if length > 1e-9:
                near = np.abs((cells - a) @ (normal / length)) < threshold
                best = near if near.sum() > best.sum() else best
        return best


def random_object(random: np.random.Generator) -> Solid:
    """A can, ball, flat tool or box at the origin."""
    kind, turn, at = random.integers(0, 5), random.uniform(-3.1, 3.1), (0.0, 0.0)
    if kind == 0:
        return can(random.uniform(0.04, 0.1), random.uniform(0.06, 0.22), at)
    if kind == 1:
        return ball(random.uniform(0.045, 0.1), at)
    if kind == 2:
        return box((random.uniform(0.1, 0.18), random.uniform(0.02, 0.035), random.uniform(0.01, 0.014)), at, turn)
    return box(random.uniform([0.04, 0.04, 0.03], [0.14, 0.14, 0.22]), at, turn)


def random_objects(random: np.random.Generator) -> list[Solid]:
    """Three to seven objects on the table, none closer than `GAP` to another."""
    found: list[tuple[Solid, np.ndarray, float]] = []
    for _ in range(200):
        at, solid = random.uniform([-0.32, -0.24], [0.32, 0.24]), random_object(random)
        solid.T[:2, 3] = at
        radius = 0.5 * float(np.linalg.norm(solid.size[:2]))
        if all(np.linalg.norm(at - other) > GAP + radius + wide for _, other, wide in found):
            found.append((solid, at, radius))
        if len(found) == 3 + random.integers(0, 5):
            break
    return [solid for solid, _, _ in found]


def random_view(random: np.random.Generator, above: bool) -> np.ndarray:
    elevation = random.uniform(1.45, math.pi / 2) if above else random.uniform(0.6, 1.1)
    return camera_at(random.uniform(0.65, 1.0), elevation, random.uniform(-3.1, 3.1))


def depth_frames(report: Report, scenes: int, frames: int) -> None:
    report.heading(f"Depth images, {scenes} scenes of {frames} frames, half of them from above")
    tallies = {"manipapy": Tally(), "plain": Tally()}
    views: dict[str, dict[str, Tally]] = {view: {name: Tally() for name in tallies} for view in ("above", "oblique")}
    for scene in range(scenes):
        random = np.random.default_rng([22, scene])
        world, above = DepthScene(random_objects(random)), scene % 2 == 0
        T = random_view(random, above)
        ours, plain = PerceptionPipeline(settings=SETTINGS), PlainPipeline()
        shown = world.truth(T)[1]
        cut_off = set(np.concatenate([shown[0], shown[-1], shown[:, 0], shown[:, -1]]).tolist())
        for number in range(frames):
            frame, labels = world.frame(T, 1000 + scene, number)
            named = {k: points_of(frame, labels == k) for k in range(len(world.objects))}
            named = {k: points for k, points in named.items() if len(points) >= MIN_PIXELS and k not in cut_off}
            every = points_of(frame, labels >= 0)
            results = {
                "manipapy": timed(lambda ours=ours, frame=frame: ours.feed(frame)),
                "plain": timed(lambda plain=plain, frame=frame: plain.run(frame)),
            }
            for name, (result, spent) in results.items():
                hulls = hulls_of(result.covered) if name == "manipapy" else result
                for tally in (tallies[name], views["above" if above else "oblique"][name]):
                    tally.add(scene, named, every, hulls)
                    tally.milliseconds.append(spent)
    rows = []
    for name, tally in tallies.items():
        for view, part in (("all", tally), *((view, entry[name]) for view, entry in views.items())):
            worst = min(share for shares in part.objects.values() for share in shares)
            rows.append(
                [
                    name,
                    view,
                    f"{100 * np.mean(part.frames):.2f}",
                    f"{100 * min(part.frames):.2f}",
                    f"{100 * worst:.1f}",
                    f"{part.lost} of {sum(map(len, part.objects.values()))}",
                    f"{part.floating}",
                    f"{len(part.phantoms)}",
                    f"{np.median(part.milliseconds):.1f}",
                ]
            )
    header = ["pipeline", "view", "covered %", "worst frame %", "worst object %", "lost", "floating", "phantoms", "ms"]
    report.table(header, rows)
    report.measurements["depth"] = {name: rows[3 * k : 3 * k + 3] for k, name in enumerate(tallies)}
    ours = tallies["manipapy"]
    worst = min(share for shares in ours.objects.values() for share in shares)
    report.require("object points covered, worst frame", {"": 100 * min(ours.frames)}, 99.8, at_least=True, unit="%")
    report.require("object points covered, worst object", {"": 100 * worst}, 97.0, at_least=True, unit="%")
    report.require("lost object-frames", {"": float(ours.lost)}, 0.0, at_least=False, unit="")
    report.require("floating obstacles", {"": float(ours.floating)}, 0.0, at_least=False, unit="")
    report.require("phantoms a scene", {"": len(ours.phantoms) / scenes}, 0.02, at_least=False, unit="")
    report.require("CPU per depth frame", {"": float(np.median(ours.milliseconds))}, 25.0, at_least=False, unit="ms")


def close_pairs(report: Report, count: int) -> None:
    report.heading(f"Two objects, {count} pairs each, half of them from above")
    rows, shares, covered = [], {}, []
    for name, gap in (("2 cm apart", 0.02), ("touching", 0.0)):
        apart, more, seen = {"manipapy": 0, "plain": 0}, {"manipapy": 0, "plain": 0}, 0
        for number in range(count):
            random = np.random.default_rng([23, number])
            world, T = DepthScene(pair_apart(random, gap, random_object)), random_view(random, number % 2 == 0)
            frame, labels = world.frame(T, 2000 + number)
            objects = [points_of(frame, labels == k) for k in range(2)]
            if min(map(len, objects)) < MIN_PIXELS:
                continue
            seen += 1
            result = PerceptionPipeline(settings=SETTINGS).feed(frame)
            covered.append(float(inside(np.concatenate(objects), list(hulls_of(result.covered).values())).mean()))
            for by, clusters in (
                ("manipapy", (result.voxels.xyz, result.labels)),
                ("plain", PlainPipeline().cluster(frame)),
            ):
                found, extra = separated(*clusters, objects)
                apart[by] += found
                more[by] += extra
        for by in apart:
            rows.append([by, name, f"{apart[by]} of {seen}", f"{100 * apart[by] / seen:.1f}", f"{more[by]}"])
        shares[name] = 100 * apart["manipapy"] / seen
    report.table(["pipeline", "objects", "separated", "%", "clusters too many"], rows)
    report.measurements["pairs"] = rows
    report.require("objects 2 cm apart separated", {"": shares["2 cm apart"]}, 90.0, at_least=True, unit="%")
    report.require("points of close objects covered, worst", {"": 100 * min(covered)}, 99.8, at_least=True, unit="%")


def stereo_pair(report: Report, rounds: int) -> None:
    from perception_scene import render

    report.heading("Stereo pair at 640x480 [ms of CPU]")
    scene = render(640, 480)
    settings = PerceptionSettings(lower=scene.lower, upper=scene.upper)
    pipeline = PerceptionPipeline(scene.stereo, body=scene.body, settings=settings)
    pair = StereoPair(0, scene.T_base_left, scene.left, scene.right, scene.q)
    spent = [
        timed(lambda number=number: pipeline.feed(replace(pair, time_ns=number * 100_000_000)))[1]
        for number in range(rounds + 3)
    ]
    median = float(np.median(spent[3:]))
    report.table(["pipeline", "", "ms"], [["manipapy", "", f"{median:.1f}"]])
    report.require("CPU per stereo pair", {"": median}, 40.0, at_least=False, unit="ms")


def hulls_of(obstacles) -> dict[int, ConvexMesh]:
    found = {}
    for obstacle in obstacles:
        try:
            found[obstacle.id] = obstacle.hull
        except InputError:
            continue  # no volume
    return found


def timed(job: Callable[[], object]):
    """Result and CPU milliseconds."""
    began = time.thread_time()
    result = job()
    return result, 1e3 * (time.thread_time() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=60)
    parser.add_argument("--frames", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    report = Report()
    print(machine())
    names = ("numpy", "numba", "opencv-python-headless", "scikit-learn", "scipy")
    print(", ".join(f"{name} {version_of(name)}" for name in names))
    depth_frames(report, chosen.scenes, chosen.frames)
    if chosen.pairs:
        close_pairs(report, chosen.pairs)
    if chosen.rounds:
        import cv2

        cv2.setNumThreads(1)
        stereo_pair(report, chosen.rounds)
    report.print_bars()
    if chosen.json:
        report.save(chosen.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
