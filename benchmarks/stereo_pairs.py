"""Disparities of real pairs with measured truth: ours beside OpenCV's SGBM_3WAY, in one run.

Pairs: aloe of Debian's `opencv-doc` and the motorcycle of scikit-image 0.15, both from Middlebury (`make images` puts
them into build/images); `--folder` adds others as NAME/im2.png, im6.png and disp2.pgm (four times the disparity). Each
is matched as the pipeline does, 640 columns wide, and narrower ones also at their own size. Both get the same range of
disparities and blocks of 3 × 3 pixels. A gross error is more than 2 pixels off; density is the share of the pixels with
truth that have a disparity. Not like for like: OpenCV leaves out the columns at the left border, which ours matches.
Times are CPU milliseconds of the calling thread, medians, one thread.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
from measure import machine, take_turns, version_of
from report import Report

from manipapy_core.perception import Matcher, MatcherSettings, StereoModel

IMAGES = Path(__file__).resolve().parent.parent / "build" / "images"
WIDTH = 640
GROSS = 2.0
"""[pixels]"""
FOCAL, BASELINE = 1000.0, 0.1
"""Of the assumed camera [pixels, m]: only their product matters, which turns disparities into depths."""

Pair = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Left and right image, and true disparities, NaN where not known."""


def pairs(folder: Path | None) -> Iterator[tuple[str, Pair]]:
    """Name and images of every pair that is there."""
    if (IMAGES / "aloeGT.png").is_file():
        truth = cv2.imread(str(IMAGES / "aloeGT.png"), 0).astype(np.float32)
        yield "aloe", (grey(IMAGES / "aloeL.jpg"), grey(IMAGES / "aloeR.jpg"), np.where(truth > 0, truth, np.nan))
    if (IMAGES / "motorcycle_disp.npz").is_file():
        with np.load(IMAGES / "motorcycle_disp.npz") as stored:
            truth = stored[stored.files[0]].astype(np.float32)
        truth[~np.isfinite(truth) | (truth <= 0)] = np.nan
        yield "motorcycle", (grey(IMAGES / "motorcycle_left.png"), grey(IMAGES / "motorcycle_right.png"), truth)
    for place in sorted(folder.iterdir()) if folder else ():
        if (place / "disp2.pgm").is_file():
            truth = cv2.imread(str(place / "disp2.pgm"), -1).astype(np.float32) / 4.0
            yield place.name, (grey(place / "im2.png"), grey(place / "im6.png"), np.where(truth > 0, truth, np.nan))


def grey(path: Path) -> np.ndarray:
    return cv2.imread(str(path), 0)


def scaled(pair: Pair, width: int) -> Pair:
    left, right, truth = pair
    scale = width / left.shape[1]
    if scale == 1.0:
        return pair
    size = (width, round(left.shape[0] * scale))
    method = cv2.INTER_AREA if scale < 1.0 else cv2.INTER_CUBIC
    truth = cv2.resize(truth, size, interpolation=cv2.INTER_NEAREST) * np.float32(scale)
    return cv2.resize(left, size, interpolation=method), cv2.resize(right, size, interpolation=method), truth


def matchers(pair: Pair) -> dict[str, Callable[[], np.ndarray]]:
    """Disparities by each; both search the same range."""
    left, right, truth = pair
    height, width = left.shape
    lowest = max(int(np.nanmin(truth)) - 3, 2) // 2 * 2
    count = 32 * math.ceil((np.nanmax(truth) + 4 - lowest) / 32)
    peer = cv2.StereoSGBM_create(
        minDisparity=lowest,
        numDisparities=count,
        blockSize=3,
        P1=8 * 9,
        P2=32 * 9,
        disp12MaxDiff=1,
        preFilterCap=31,
        uniquenessRatio=10,
        speckleWindowSize=100,
        speckleRange=2,
        mode=cv2.StereoSGBM_MODE_SGBM_3WAY,
    )
    product = FOCAL * BASELINE
    settings = MatcherSettings(
        min_depth=product / (lowest + count - 1), max_depth=product / lowest, max_search_depth=product / lowest
    )
    stereo = StereoModel.ideal(width, height, FOCAL, FOCAL, width / 2, height / 2, BASELINE)
    ours = Matcher(stereo, settings)
    assert (ours.lowest, ours.count) == (lowest, count)

    def by_peer() -> np.ndarray:
        values = peer.compute(left, right).astype(np.float32) / 16.0
        values[values < lowest] = np.nan
        return values

    return {
        "manipapy": lambda: ours.match(left, right).full_size(height),
        "SGBM_3WAY": by_peer,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="further pairs")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    cv2.setNumThreads(1)
    report, rows = Report(), []
    print(machine())
    print(", ".join(f"{name} {version_of(name)}" for name in ("numpy", "numba", "opencv-python-headless")))
    ratios: dict[str, dict[str, float]] = {"gross": {}, "density": {}, "time": {}}
    for name, stored in pairs(chosen.folder):
        for width in sorted({min(stored[0].shape[1], WIDTH), WIDTH}):
            pair = scaled(stored, width)
            jobs = matchers(pair)
            taken = take_turns(jobs, rounds=chosen.rounds, turn=0.0, clock=time.thread_time)
            label, found = f"{name} {width}x{pair[0].shape[0]}", {}
            for by, job in jobs.items():
                values, known = job(), np.isfinite(pair[2])
                both = known & np.isfinite(values)
                error = np.abs(values[both] - pair[2][both])
                found[by] = (both.sum() / known.sum(), float(np.mean(error > GROSS)), taken[by])
                density, gross, seconds = found[by]
                middle = f"{np.median(error):.2f}"
                rows.append([label, by, f"{100 * density:.1f}", f"{100 * gross:.2f}", middle, f"{1e3 * seconds:.1f}"])
            for at, key in enumerate(("density", "gross", "time")):
                ratios[key][label] = float(found["manipapy"][at] / found["SGBM_3WAY"][at])
    if not rows:
        print("no pairs here: run make images")
        return 0
    report.heading("Real pairs")
    report.table(["pair", "by", "density %", "gross %", "median error px", "ms"], rows)
    report.measurements["pairs"] = rows
    limits = {"gross": 1.0, "density": 0.85, "time": 0.5}
    for key, limit in limits.items():
        report.require(f"{key}, manipapy / SGBM_3WAY", ratios[key], limit, at_least=key == "density")
    report.print_bars()
    if chosen.json:
        report.save(chosen.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
