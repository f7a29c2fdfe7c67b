"""Loads every robot description below some folders with no argument: `bench_descriptions.py FOLDER...`.

Per folder: how many load, which are refused and why, which crash, how long loading takes, and for a sample of chains
the largest difference of tip pose and mass matrix from Pinocchio, which reads the same URDF.

What is no robot is not counted: xacro files that others include, files that hold no links, and documents that are no
description (SRDF, scenes of other tools). Everything else that is refused counts against us, broken files too.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from manipapy_core import Robot, dynamics, kinematics
from manipapy_core.errors import ManipapyError, ModelError

NO_ROBOT = re.compile(r"has no links|holds no links|is not a URDF|holds no <model>|no model of its own")
INCLUDED = re.compile(r'(?:<xacro:include\s+filename=|<include\s+file=)["\']([^"\']+)["\']')
WORDS = re.compile(r"'[^']*'|\"[^\"]*\"|-?\d[\d.e+-]*|/\S+")


def descriptions(folder: Path) -> Iterator[Path]:
    """Files that describe a robot by themselves."""
    files: list[Path] = []
    parts: set[str] = set()
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(place, name)
            if path.suffix not in (".urdf", ".xacro", ".sdf", ".xml") or name.endswith(".srdf.xacro"):
                continue
            text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
            parts |= {Path(found).name for found in INCLUDED.findall(text)}
            if path.suffix != ".xml" or re.search(r"<mujoco\b", text[:5000]):
                files.append(path)
    yield from (path for path in files if path.name not in parts)


def parity(robot: Robot) -> tuple[float, float] | None:
    """Difference from Pinocchio of tip pose and mass matrix, relative to the latter's size; None without a chain."""
    import pinocchio

    chain = robot.tree()
    if not 4 <= chain.n <= 14 or len(chain.bodies) != chain.n or "xacro:" in robot.urdf:
        return None
    try:
        model = pinocchio.buildModelFromXML(robot.urdf)
    except ValueError:
        return None
    data, generator = model.createData(), np.random.default_rng(1)
    order = [model.joints[model.getJointId(name)].idx_v for name in chain.joint_names]
    if len(order) != model.nv:
        return None
    worst = [0.0, 0.0]
    for _ in range(10):
        q = generator.uniform(-1.0, 1.0, chain.n)
        full = pinocchio.neutral(model)
        for name, value in zip(chain.joint_names, q):
            joint = model.joints[model.getJointId(name)]
            full[joint.idx_q : joint.idx_q + joint.nq] = [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
        pinocchio.framesForwardKinematics(model, data, full)
        theirs = data.oMf[model.getFrameId(chain.tip, pinocchio.FrameType.BODY)].homogeneous
        worst[0] = max(worst[0], float(np.abs(kinematics.forward(chain, q) - theirs).max()))
        M = pinocchio.crba(model, data, full)
        M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
        ours = dynamics.mass_matrix(chain, q)
        worst[1] = max(worst[1], float(np.abs(ours - M).max()) / max(float(np.abs(M).max()), 1e-12))
    return worst[0], worst[1]


def run(folder: Path, sample: int, quiet: bool) -> None:
    outcome: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    examples: dict[str, Path] = {}
    times: list[float] = []
    differences: list[tuple[float, float]] = []
    for path in descriptions(folder):
        start = time.process_time()
        try:
            robot = Robot.from_urdf(path)
        except ManipapyError as error:
            first = error.problems[0] if isinstance(error, ModelError) else str(error)
            if NO_ROBOT.search(first):
                continue
            outcome["refused"] += 1
            reason = WORDS.sub("_", first.partition(": ")[2])[:100]
            reasons[reason] += 1
            examples.setdefault(reason, path)
        except Exception as error:  # the point of this benchmark
            outcome["crashed"] += 1
            print(f"  CRASH {path}: {error!r}")
        else:
            times.append(time.process_time() - start)
            outcome["loaded"] += 1
            outcome["with a missing mesh"] += any("mesh '" in warning for warning in robot.warnings)
            if len(differences) < sample and len(robot.free_joints) >= 4:
                found = parity(robot)
                differences += [] if found is None else [found]
    total = outcome["loaded"] + outcome["refused"] + outcome["crashed"]
    if not total:
        return
    share = 100.0 * outcome["loaded"] / total
    slowest = f"{np.median(times) * 1e3:.0f} ms, at most {max(times):.2f} s CPU" if times else "-"
    close = ""
    if differences:
        pose, mass = np.max(differences, axis=0)
        close = f"; Pinocchio on {len(differences)} chains: pose {pose:.1e}, mass matrix {mass:.1e}"
    counts = f"{outcome['refused']} refused, {outcome['crashed']} crashed, {outcome['with a missing mesh']} lack a mesh"
    print(f"{folder.name}: {outcome['loaded']} of {total} load ({share:.1f} %), {counts}; {slowest}{close}", flush=True)
    for reason, count in () if quiet else reasons.most_common():
        print(f"  {count} × {reason} ({examples[reason].relative_to(folder)})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--parity", type=int, default=2, help="Chains per folder to compare with Pinocchio.")
    parser.add_argument("--quiet", action="store_true", help="No reasons.")
    options = parser.parse_args()
    for folder in options.folders:
        run(folder, options.parity, options.quiet)


if __name__ == "__main__":
    main()
