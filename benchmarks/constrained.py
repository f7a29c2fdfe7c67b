"""Constrained polytopes judged by coal: `make bench-constrained`.

Arms in an empty world: do they keep their polytopes, and are rows broken by motions that are free? Arms among
obstacles: are the corners of the motion polytope free, and how much of it is left? Coal compares the true collision
shapes, meshes triangle by triangle. Other robots: `--robot file.urdf:base:tip`, with `--package-path folder` where
their packages are, and arguments of xacro after the tip: `--robot ur.urdf.xacro:base_link:tool0:ur_type=ur5e`.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from measure import machine, version_of
from problems import Array
from report import Report

from geometry.arms import ENDS
from manipapy_core import Robot, polytopes
from manipapy_core.geometry import Checker, RobotBody
from polytopes.scenes import Truth, close_configuration, cluttered_world, free_configurations, near_by_coal

HORIZONS = (0.02, 0.05, 0.1)
"""Largest joint motion of a motion polytope [rad or m]."""
MOTIONS = 4
"""Motions per free configuration that are compared with the rows."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--robot", action="append", metavar="NAME|FILE:BASE:TIP[:ARG=VALUE]", help="instead of the bundled ones"
    )
    parser.add_argument("--package-path", action="append", default=[], metavar="FOLDER", help="of packages of robots")
    parser.add_argument("--count", type=int, default=1000, help="free configurations per robot")
    parser.add_argument("--scenes", type=int, default=200, help="scenes with obstacles per robot")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    options = parser.parse_args()
    report = Report()
    report.heading("manipapy constrained polytopes")
    report.note(machine())
    report.note(f"Python {platform.python_version()}, numpy {version_of('numpy')}, coal {version_of('coal')}")
    arms = {label(text): load(text, options.package_path) for text in options.robot or ENDS}
    empty_world(report, arms, options.count)
    obstacles(report, arms, options.scenes)
    report.print_bars()
    if options.json:
        report.save(options.json)


def label(text: str) -> str:
    file, *rest = text.split(":")
    return " ".join([Path(file).name.split(".")[0], *(value.split("=")[1] for value in rest[2:])])


def load(text: str, folders: Sequence[str]) -> tuple[Robot, RobotBody]:
    file, *rest = text.split(":")
    arguments = dict(item.split("=", 1) for item in rest[2:])
    robot = Robot.from_urdf(file, package_paths=folders, xacro_args=arguments or None)
    return robot, RobotBody.build(robot, robot.chain(*(rest[:2] or ENDS[file])))


def empty_world(report: Report, arms: dict[str, tuple[Robot, RobotBody]], count: int) -> None:
    report.heading(f"Empty world, {count:,} free configurations each")
    rng, rows, medians, empties, beyond = np.random.default_rng(0), [], {}, {}, {}
    for name, (robot, body) in arms.items():
        chain, truth = body.chain, Truth(robot, body.chain, body)
        kept, moved, taken, empty = [], [], [], 0
        worst = dict.fromkeys(HORIZONS, 0.0)
        for q in free_configurations(Checker(body), truth, count):
            start = time.thread_time()
            near = polytopes.near_points(body, None, q)
            taken.append(time.thread_time() - start)
            motion = polytopes.motion_polytope(chain, q, near=near)
            velocity = polytopes.velocity_polytope(chain, q, speed=speeds(chain.limits.velocity), near=near)
            free = polytopes.velocity_polytope(chain, q, speed=speeds(chain.limits.velocity)).volume
            empty += motion.is_empty or velocity.is_empty
            if free > 0.0:
                kept.append(velocity.volume / free)
                moved.append(motion.volume / polytopes.motion_polytope(chain, q).volume)
            joints = polytopes.motion_set(chain, q, position_limits=False, near=near)
            for horizon in HORIZONS if len(joints.b) else ():
                for dq in horizon * rng.choice([-1.0, 1.0], (MOTIONS, chain.n)):
                    broken = float((joints.A @ dq - joints.b).max())
                    if broken > worst[horizon] and truth.free_motion(q, dq):
                        worst[horizon] = broken
        medians[name], empties[name], beyond[name] = float(np.median(kept)), float(empty), 1e3 * worst[0.02]
        rows.append([
            name, str(len(taken)), str(empty), f"{np.median(kept):.3f} ({np.min(kept):.3f})",
            f"{np.median(moved):.3f} ({np.min(moved):.3f})", *(f"{1e3 * worst[h]:.2f}" for h in HORIZONS),
            f"{1e3 * np.median(taken):.2f}",
        ])  # fmt: skip
    horizons = [f"broken by free motions of {h:g} [mm]" for h in HORIZONS]
    report.table(
        ["robot", "free", "empty", "velocity kept (least)", "motion kept (least)", *horizons, "near points [ms]"], rows
    )
    report.require("empty polytopes of free arms", empties, 0.0, at_least=False, unit="")
    report.require("median velocity volume kept", medians, 0.95, at_least=True)
    report.require("rows broken by free motions of 0.02 per joint [mm]", beyond, 1.0, at_least=False, unit=" mm")


def obstacles(report: Report, arms: dict[str, tuple[Robot, RobotBody]], scenes: int) -> None:
    report.heading(f"Six objects, one within some centimetres, {scenes} scenes each: corners of the motion polytope")
    rows, free_shares, volumes = [], {}, {}
    for name, (robot, body) in arms.items():
        chain, rng = body.chain, np.random.default_rng(1)
        corners, hits, ratios = dict.fromkeys(HORIZONS, 0), dict.fromkeys(HORIZONS, 0), []
        used = 0
        for scene in range(4 * scenes):
            if used == scenes:
                break
            world = cluttered_world(rng, chain)
            truth = Truth(robot, chain, body, world)
            q = close_configuration(Checker(body, world), truth, rng, scene)
            if q is None:
                continue
            used += 1
            near = polytopes.near_points(body, world, q)
            by_coal = near_by_coal(chain, body, world, q)
            for horizon in HORIZONS:
                found = polytopes.motion_polytope(chain, q, near=near, linearisation=horizon)
                corners[horizon] += len(found.preimages)
                hits[horizon] += sum(truth.collides(q + dq) for dq in found.preimages)
            exact = polytopes.motion_polytope(chain, q, near=by_coal, curvature=False, linearisation=HORIZONS[-1])
            ratios.append(found.volume / exact.volume if exact.volume > 0.0 else 1.0)
        told = [f"{100.0 * (1.0 - hits[h] / max(corners[h], 1)):.2f} % of {corners[h]:,}" for h in HORIZONS]
        rows.append([name, str(used), *told, f"{np.median(ratios):.3f} ({np.quantile(ratios, 0.05):.3f})"])
        free_shares[name] = min(100.0 * (1.0 - hits[h] / max(corners[h], 1)) for h in HORIZONS)
        volumes[name] = float(np.median(ratios))
    horizons = [f"free at {h:g}" for h in HORIZONS]
    report.table(["robot", "scenes", *horizons, "volume of that by coal's distances (5 % below)"], rows)
    report.require("free corners [%], worst of the three horizons", free_shares, 99.9, at_least=True, unit=" %")
    report.require("median volume beside that of exact distances", volumes, 0.8, at_least=True)


def speeds(limits: Array) -> Array:
    """Velocity limits, 1 where the description has none."""
    return np.where(np.isfinite(limits) & (limits > 0.0), limits, 1.0)


if __name__ == "__main__":
    main()
