"""Images of Debian's package opencv-doc: a stereo pair with ground truth, and chessboards; not part of this project."""

from __future__ import annotations

from pathlib import Path

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
