"""Files of a calibration: folders of images with poses, cameras in the layout of ROS, and results."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import kinematics, lie
from ..errors import InputError
from ..model.chain import Chain
from ..perception.camera_pose import CameraPose, matrix_of, read_yaml
from ..perception.stereo.camera import Camera
from ..perception.stereo.images import AnyImage, opencv
from ..typing import Array
from .hand_eye import HandEyeCalibration, HandEyeView

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".pgm")
POSES = "poses.yaml"


def image_files(folder: str | os.PathLike[str], prefix: str = "") -> list[Path]:
    """Image files of a folder whose names begin with a prefix, in the order of their names.

    Raises:
        InputError: There is no such folder, or no image in it.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"{os.fspath(folder)} is no folder; give the folder of the images")
    found = sorted(
        path for path in place.iterdir() if path.suffix.lower() in IMAGES and path.name.lower().startswith(prefix)
    )
    if not found:
        wanted = f" that begins with {prefix!r}" if prefix else ""
        raise InputError(f"{os.fspath(folder)} has no image{wanted}; {', '.join(IMAGES)} are read")
    return found


def read_image(path: str | os.PathLike[str]) -> AnyImage:
    """Grey values of an image file, shape (height, width).

    Raises:
        InputError: It cannot be read.
    """
    cv2 = opencv()
    image: AnyImage | None = cv2.imread(os.fspath(path), cv2.IMREAD_GRAYSCALE)
    if image is None:
        raise InputError(f"{os.fspath(path)} cannot be read as an image")
    return image


def image_pairs(folder: str | os.PathLike[str]) -> list[tuple[str, Path, Path]]:
    """Name, left and right file of every stereo pair: `left_03.png` belongs to `right_03.png`.

    Raises:
        InputError: An image has no partner.
    """
    left, right = ({_number(path): path for path in image_files(folder, side)} for side in ("left", "right"))
    alone = sorted({*left} ^ {*right})
    if alone:
        raise InputError(f"{os.fspath(folder)}: {', '.join(alone[:6])} on one side only; left and right must match")
    return [(name, left[name], right[name]) for name in left]


def read_views(folder: str | os.PathLike[str], chain: Chain | None = None) -> list[HandEyeView]:
    """Images and hand poses of a folder: `poses.yaml` lists each image with a pose, or with joint positions.

    Args:
        chain: The arm whose tip is the hand; needed where joint positions are listed.

    Raises:
        InputError: A file is missing, or an entry lacks something.
    """
    place = Path(folder)
    listed = read_yaml(place / POSES).get("views")
    if not isinstance(listed, list) or not listed:
        raise InputError(f"{place / POSES}: no list 'views'; write an image with its pose or joints for each")
    views = []
    for number, entry in enumerate(listed):
        where = f"{place / POSES}, view {number}"
        if not isinstance(entry, dict) or "image" not in entry:
            raise InputError(f"{where}: no image")
        path = place / str(entry["image"])
        views.append(HandEyeView(read_image(path), _hand_pose(entry, chain, where), str(entry["image"])))
    return views


def write_poses(folder: str | os.PathLike[str], names: Sequence[str], poses: Sequence[Array]) -> None:
    """Write `poses.yaml`: the image files and the poses of the hand, shape (4, 4) each."""
    views = [{"image": name, **_pose_data(T)} for name, T in zip(names, poses, strict=True)]
    _write(Path(folder) / POSES, {"views": views}, "Poses of the hand in the base [m], quaternions x y z w.")


def write_visits(path: str | os.PathLike[str], joint_names: Sequence[str], visits: Sequence[Array]) -> None:
    """Write joint positions to visit, shape (n,) each."""
    rows = [[float(value) for value in q] for q in visits]
    _write(Path(path), {"joint_names": list(joint_names), "visits": rows}, "Joint positions [rad or m].")


def read_visits(path: str | os.PathLike[str]) -> tuple[list[str], list[Array]]:
    """Joint names and positions to visit, shape (n,) each.

    Raises:
        InputError: The file does not exist or lacks something.
    """
    data = read_yaml(path)
    try:
        names = [str(name) for name in data["joint_names"]]
        visits = [np.array(row, dtype=np.float64) for row in data["visits"]]
    except (KeyError, TypeError, ValueError):
        names, visits = [], []
    if not names or not visits or any(q.shape != (len(names),) or not np.isfinite(q).all() for q in visits):
        raise InputError(f"{os.fspath(path)}: no poses to visit; write them with `manipapy calibrate poses`")
    return names, visits


def save_camera(camera: Camera, path: str | os.PathLike[str], name: str = "camera") -> None:
    """Write a camera in the layout of ROS's camera_calibration, which drivers read."""

    def matrix(values: Array) -> dict[str, Any]:
        rows = np.atleast_2d(values)
        return {"rows": rows.shape[0], "cols": rows.shape[1], "data": [float(value) for value in rows.ravel()]}

    data = {
        "image_width": camera.width,
        "image_height": camera.height,
        "camera_name": name,
        "camera_matrix": matrix(camera.K),
        "distortion_model": camera.model.value,
        "distortion_coefficients": matrix(camera.D),
        "rectification_matrix": matrix(camera.R),
        "projection_matrix": matrix(camera.projection),
    }
    _write(Path(path), data)


def load_camera(path: str | os.PathLike[str]) -> Camera:
    """A camera from a file in the layout of ROS's camera_calibration.

    Raises:
        InputError: It does not exist or lacks something.
    """
    data = read_yaml(path)

    def numbers(key: str) -> Any:
        part = data.get(key, {})
        return part.get("data", ()) if isinstance(part, dict) else part

    missing = [key for key in ("image_width", "image_height", "camera_matrix") if key not in data]
    if missing:
        raise InputError(f"{os.fspath(path)}: no {', '.join(missing)}; calibrate with `manipapy calibrate camera`")
    return Camera.from_info(
        data["image_width"],
        data["image_height"],
        numbers("camera_matrix"),
        numbers("distortion_coefficients"),
        numbers("rectification_matrix"),
        numbers("projection_matrix"),
        str(data.get("distortion_model", "plumb_bob")),
    )


def save_hand_eye(found: HandEyeCalibration, path: str | os.PathLike[str], parent: str, child: str = "") -> CameraPose:
    """Write a result as YAML, which `CameraPose.load`, `manipapy up --camera-pose` and the launch files read.

    Args:
        parent: Name of the hand's or the base's link.
        child: Optical frame of the camera; empty: that of the images.
    """
    pose = CameraPose(parent, found.T_parent_camera, child)
    data = {
        "parent_frame": parent,
        "child_frame": child,
        **_pose_data(found.T_parent_camera),
        "setup": found.setup.value,
        "residual_pixels": float(found.residual),
        "residual_metres": float(found.position_residual),
        "translation_sigma": found.translation_sigma,
        "rotation_sigma": found.rotation_sigma,
        "views": len(found.view_residuals),
        "closed_forms_pixels": {name: float(value) for name, value in found.methods.items()},
        "board": _pose_data(found.T_other_board),
    }
    _write(Path(path), data, "Camera in its parent frame [m], quaternion x y z w.", pose.static_transform())
    return pose


def _pose_data(T: Array) -> dict[str, list[float]]:
    return {
        "translation": [float(value) for value in T[:3, 3]],
        "rotation": [float(value) for value in lie.rotation_to_quaternion(T[:3, :3])],
    }


def _hand_pose(entry: dict[str, Any], chain: Chain | None, where: str) -> Array:
    if "translation" in entry and "rotation" in entry:
        return matrix_of(entry["translation"], entry["rotation"], where)
    joints = entry.get("joints")
    if joints is None:
        raise InputError(f"{where}: neither translation and rotation nor joints")
    if chain is None:
        raise InputError(f"{where} lists joints; give the robot as well")
    if isinstance(joints, dict):
        missing = [name for name in chain.joint_names if name not in joints]
        if missing:
            raise InputError(f"{where}: no position of {', '.join(missing)}")
        joints = [joints[name] for name in chain.joint_names]
    return kinematics.forward(chain, np.array(joints, dtype=np.float64))


def _number(path: Path) -> str:
    return re.sub(r"^(left|right)[_-]?", "", path.stem.lower())


def _write(path: Path, data: dict[str, Any], *comments: str) -> None:
    import yaml

    text = "".join(f"# {comment}\n" for comment in comments)
    path.write_text(text + yaml.safe_dump(data, sort_keys=False, default_flow_style=None), encoding="utf-8")
