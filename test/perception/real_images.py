"""Real images that are not part of this project: stereo pairs with ground truth, and chessboards.

They come from Debian's package opencv-doc, and one pair from scikit-image 0.15.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

FOLDERS = [
    Path(__file__).resolve().parents[2] / "build" / "images",
    Path("/usr/share/doc/opencv-doc/examples/data"),
    Path("/usr/share/opencv4/samples/data"),
]


def read(name: str):
    """An image as grey values, or the test is skipped."""
    cv2 = pytest.importorskip("cv2", reason="stereo vision needs OpenCV: pip install 'manipapy[perception]'")
    for folder in FOLDERS:
        if (folder / name).is_file():
            return cv2.imread(str(folder / name), 0)
    pytest.skip(f"no {name} here: run make images, or apt-get install opencv-doc")


def stored(name: str):
    """The array in a file of NumPy, or the test is skipped."""
    for folder in FOLDERS:
        if (folder / name).is_file():
            with np.load(folder / name) as file:
                return file[file.files[0]]
    pytest.skip(f"no {name} here: run make images")
