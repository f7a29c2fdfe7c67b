"""Hand-eye calibration on rendered boards with pixel noise, both set-ups: errors against the truth, and their sigma.

Boards are rendered with distortion, blur and noise (`test/calibration/board_sets.py`), 15 views each. The last
case has errors of the robot's own poses: 0.1 mm and 0.2 mrad per axis. The closed forms that the refinement starts from
are measured on the same sets. Errors divided by the estimated standard deviation should be about one: the share of sets
within two is printed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from measure import machine, version_of
from report import Report

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "test"))

from calibration.board_sets import CAMERA, CHARUCO, CHESSBOARD, hand_eye_set, pose_error
from manipapy_core.calibration import Setup, calibrate_hand_eye

CASES = {
    "charuco": {"board": CHARUCO},
    "chessboard": {"board": CHESSBOARD},
    "charuco, robot errors": {"board": CHARUCO, "pose_noise": (1e-4, 2e-4)},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--save", type=Path, help="write the numbers as JSON")
    arguments = parser.parse_args()
    report = Report()
    report.heading(
        f"Hand-eye calibration, {arguments.seeds} seeds, 15 views of 640 × 480 pixels with noise of 3 grey values"
    )
    report.note(f"{machine()}, OpenCV {version_of('opencv-python-headless')}")
    rows, worst = [], {"mm": {}, "degrees": {}}
    for case, options in CASES.items():
        for setup in Setup:
            errors, ratios, residuals, closed, spent = [], [], [], [], []
            for seed in range(arguments.seeds):
                views, true = hand_eye_set(setup, 100 + seed, **options)
                began = time.thread_time()
                found = calibrate_hand_eye(views, options["board"], CAMERA, setup)
                spent.append(time.thread_time() - began)
                errors.append(pose_error(found.T_parent_camera, true))
                ratios.append(errors[-1][0] / found.translation_sigma)
                residuals.append(found.residual)
                closed.append(min(found.methods.values()))
            millimetres, degrees = 1e3 * np.array(errors)[:, 0], np.degrees(np.array(errors)[:, 1])
            name = f"{case}, {setup.value}"
            worst["mm"][name], worst["degrees"][name] = float(millimetres.max()), float(degrees.max())
            rows.append(
                [case, setup.value, f"{np.median(millimetres):.3f}", f"{millimetres.max():.3f}",
                 f"{np.median(degrees):.4f}", f"{degrees.max():.4f}", f"{np.median(residuals):.3f}",
                 f"{np.median(closed):.3f}", f"{100 * np.mean(np.array(ratios) < 2):.0f} %", f"{np.median(spent):.2f}"]
            )  # fmt: skip
            report.measurements[name] = {"millimetres": millimetres.tolist(), "degrees": degrees.tolist()}
    header = [
        "board",
        "camera",
        "mm",
        "worst",
        "degrees",
        "worst",
        "residual",
        "closed form",
        "within 2 sigma",
        "CPU s",
    ]
    report.table(header, rows)
    report.require("translation, worst seed", worst["mm"], 1.5, at_least=False, unit=" mm")
    report.require("rotation, worst seed", worst["degrees"], 0.15, at_least=False, unit="°")
    report.print_bars()
    if arguments.save:
        report.save(arguments.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
