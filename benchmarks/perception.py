"""A stereo pair to obstacles: every stage, and the whole pipeline beside a straightforward one.

The naive pipeline is SGBM, `reprojectImageTo3D`, a voxel grid by `numpy.unique` and scikit-learn's DBSCAN, with the
same depth range, voxel size, eps and min_samples. Not like for like: it has no self filter and no tracks, and clusters
table and objects together, so a second row gives it the points without the table; it matches every row and column of
the image, ours averages both in pairs at 640x480 and refines the result on all columns, as by default. Both run on the
same images of a simulated table with five objects and a UR5, rendered once. Times are CPU seconds of the calling
thread, which does all the work of ours and of OpenCV; threads of scikit-learn spin while waiting, and a clock of the
whole process would charge that to the next job.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from measure import machine, take_turns, version_of
from perception_peers import NaivePipeline, peer_dbscans
from perception_scene import RenderedScene, camera_to_obstacle, render
from report import Report

from manipapy_core.perception import PerceptionPipeline, PerceptionSettings, Points, StereoPair, dbscan, voxel_grid

SIZES = ((320, 240), (640, 480))
THREAD = time.thread_time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    import cv2

    cv2.setNumThreads(1)
    report = Report()
    print(machine())
    names = ("numpy", "numba", "opencv-python-headless", "scikit-learn", "scipy", "pybullet")
    print(", ".join(f"{name} {version_of(name)}" for name in names))
    scenes = {size: render(*size) for size in SIZES}
    end_to_end(report, scenes, chosen.rounds)
    stages(report, scenes, chosen.rounds)
    latency(report, chosen.rounds)
    voxels(report, scenes[SIZES[-1]], chosen.rounds)
    clustering(report, scenes[SIZES[-1]])
    report.print_bars()
    if chosen.json:
        report.save(chosen.json)
    return 0


def end_to_end(report: Report, scenes: dict[tuple[int, int], RenderedScene], rounds: int) -> None:
    report.heading("A pair to obstacles [ms of CPU]")
    rows, ratios, ours_ms = [], {}, {}
    for size, scene in scenes.items():
        ours, naive = Feeder(scene), NaivePipeline(scene.stereo, ours_settings(scene))
        taken = take_turns(
            {
                "manipapy": ours.next,
                "naive": lambda naive=naive, scene=scene: naive.run(scene.left, scene.right, scene.T_base_left),
                "naive, table removed": lambda naive=naive, scene=scene: naive.run(
                    scene.left, scene.right, scene.T_base_left, above=0.02
                ),
            },
            rounds=rounds,
            turn=0.0,
            clock=THREAD,
        )
        label = f"{size[0]}x{size[1]}"
        for name, seconds in taken.items():
            rows.append([label, name, f"{1e3 * seconds:.1f}", f"{seconds / taken['manipapy']:.1f}x"])
        ratios[label] = taken["naive"] / taken["manipapy"]
        ours_ms[label] = 1e3 * taken["manipapy"]
        found = ours.last.obstacles
        valid = f"{100 * ours.last.valid_share:.0f} % of pixels valid"
        report.note(f"{label}: {len(found)} obstacles found, {scene.objects} objects in the scene, {valid}")
        report.measurements[f"end to end {label}"] = taken
    report.table(["images", "pipeline", "ms", "to ours"], rows)
    report.require("naive / manipapy at 640x480", {"": ratios["640x480"]}, 3.0, at_least=True)
    report.require("CPU per frame at 640x480", {"": ours_ms["640x480"]}, 60.0, at_least=False, unit="ms")


def stages(report: Report, scenes: dict[tuple[int, int], RenderedScene], rounds: int) -> None:
    report.heading("Stages [ms of wall time, medians]")
    columns: dict[str, list[str]] = {}
    for scene in scenes.values():
        ours, taken = Feeder(scene), []
        for _ in range(rounds + 2):
            ours.next()
            taken.append(dict(ours.last.stage_times))
        for stage in taken[-1]:
            middle = np.median([entry[stage] for entry in taken[2:]])
            columns.setdefault(stage, []).append(f"{1e3 * middle:.2f}")
        columns.setdefault("whole", []).append(f"{1e3 * np.median([sum(entry.values()) for entry in taken[2:]]):.2f}")
    header = ["stage", "", *(f"{width}x{height}" for width, height in scenes)]
    report.table(header, [[stage, "", *values] for stage, values in columns.items()])
    report.note("'whole' is the latency from the pair to its obstacles, without rendering, DDS and waiting")


def latency(report: Report, rounds: int) -> None:
    report.heading("Camera to obstacle on the simulation, 320x240 [ms of wall time]")
    taken = camera_to_obstacle(rounds)
    rows = [[name, f"{1e3 * np.median(times):.1f}", f"{1e3 * max(times):.1f}"] for name, times in taken.items()]
    report.table(["part", "median", "largest"], rows)
    report.note("rendered in a process of its own, matched from both sides as in `make sim`; without DDS")
    report.require("camera to obstacle", {"": 1e3 * float(np.median(taken["whole"]))}, 150.0, at_least=False, unit="ms")


def voxels(report: Report, scene: RenderedScene, rounds: int) -> None:
    report.heading("Voxel grid, 300 000 points, cells of 1 cm [ms of CPU]")
    points = scene.points[np.isfinite(scene.points[:, 2])]
    points = np.resize(points, (300_000, 3)).astype(np.float32)
    cloud = Points(points, np.zeros(len(points), np.float32))
    taken = take_turns(
        {"manipapy": lambda: voxel_grid(cloud, 0.01), "numpy.unique": lambda: numpy_voxels(points, 0.01)},
        rounds=rounds,
        turn=0.02,
        clock=THREAD,
    )
    report.table(["", "by", "ms"], [["", name, f"{1e3 * seconds:.2f}"] for name, seconds in taken.items()])
    report.require("voxel grid of 300k points", {"": 1e3 * taken["manipapy"]}, 5.0, at_least=False, unit="ms")


def numpy_voxels(points: np.ndarray, cell: float) -> np.ndarray:
    from perception_peers import numpy_voxel_means

    return numpy_voxel_means(points, cell)


def clustering(report: Report, scene: RenderedScene) -> None:
    report.heading("DBSCAN on points of the scene, eps 2 cm, min_samples 8 [ms of CPU]")
    rows, ratios = [], {}
    points = scene.points[np.isfinite(scene.points[:, 2])].astype(np.float64)
    for count in (1000, 5000, 20_000, 100_000):
        some = np.random.default_rng(0).choice(points, count, replace=False)
        eps = 0.02 if count > 5000 else 0.05
        jobs = {"manipapy": lambda some=some, eps=eps: dbscan(some, eps, 8)}
        for name, peer in peer_dbscans().items():
            jobs[name] = lambda some=some, eps=eps, peer=peer: peer(some, eps, 8)
        taken = take_turns(jobs, rounds=5 if count < 50_000 else 2, turn=0.0, clock=THREAD)
        reference = jobs["scikit-learn"]()
        for name, seconds in taken.items():
            same = "equal" if np.array_equal(jobs[name](), reference) else "differ"
            rows.append([f"{count}", name, f"{1e3 * seconds:.2f}", f"{seconds / taken['manipapy']:.1f}x", same])
        ratios[f"{count}"] = taken["scikit-learn"] / taken["manipapy"]
    report.table(["points", "by", "ms", "to ours", "labels"], rows)
    report.require("scikit-learn / manipapy, DBSCAN of 20k points", {"": ratios["20000"]}, 3.0, at_least=True)


def ours_settings(scene: RenderedScene) -> PerceptionSettings:
    return PerceptionSettings(lower=scene.lower, upper=scene.upper)


class Feeder:
    """Feeds the same pair repeatedly, each time a tenth of a second later."""

    def __init__(self, scene: RenderedScene):
        self.pipeline = PerceptionPipeline(scene.stereo, body=scene.body, settings=ours_settings(scene))
        self.frame = StereoPair(0, scene.T_base_left, scene.left, scene.right, scene.q)

    def next(self) -> None:
        self.frame = replace(self.frame, time_ns=self.frame.time_ns + 100_000_000)
        self.last = self.pipeline.feed(self.frame)


if __name__ == "__main__":
    raise SystemExit(main())
