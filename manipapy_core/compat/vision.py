"""`Vision`: cameras, stereo and obstacle points, with ManipulaPy's API.

Intended differences from ManipulaPy: a camera's rotation and translation are the pose of its optical frame (z forward,
x right, y down) in the world; depth is in metres along z; a detector is any object with `detect` (see
`perception.Detector`), no model is downloaded, and without one every pixel nearer than the threshold counts. Images can
also come from files ("image_path", "depth_path"). PyBullet's sliders are not supported: change the configuration.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import lie
from ..errors import InputError
from ..model.elements import transform_from_xyz_rpy
from ..perception import (
    Camera,
    DepthMap,
    Detector,
    Disparity,
    Matcher,
    MatcherSettings,
    Rectifier,
    StereoModel,
    as_depth,
    as_gray,
    depth_from_disparity,
    points_from_depth,
)
from ..perception.stereo.images import opencv

Config = Mapping[str, Any]

DEFAULT_SIZE = (640, 480)
NEEDED_FOR_STEREO = ("intrinsic_matrix", "distortion_coeffs", "translation", "rotation")


class Vision:
    """Images from PyBullet, capture devices or files, and stereo.

    Args:
        camera_configs: One mapping per camera: name, translation [m], rotation (roll, pitch, yaw [degrees]), fov
            (vertical [degrees]), near, far [m], intrinsic_matrix (3, 3), distortion_coeffs (5,), use_opencv,
            device_index; here also width, height [pixels], image_path and depth_path.
        stereo_configs: Left and right camera; both need intrinsic_matrix, distortion_coeffs, translation, rotation.
        use_pybullet_debug: Not supported; logs a warning.
        show_plot: No effect without the sliders.
        physics_client: Number of the PyBullet server to render.

    Attributes:
        cameras: Complete configuration of each camera, by index.
        detector: Detects objects in images; None: obstacles by depth alone.
        left_cam_cfg: As given, as `right_cam_cfg`; None without stereo.
    """

    def __init__(
        self,
        camera_configs: Sequence[Config] | None = None,
        stereo_configs: tuple[Config, Config] | None = None,
        use_pybullet_debug: bool = False,
        show_plot: bool = True,
        logger_name: str = "VisionSystemLogger",
        physics_client: int | None = None,
    ):
        self.logger = logging.getLogger(logger_name)
        self.physics_client, self.show_plot = physics_client, show_plot
        self.use_pybullet_debug = use_pybullet_debug
        self.left_cam_cfg: Config | None = None if stereo_configs is None else stereo_configs[0]
        self.right_cam_cfg: Config | None = None if stereo_configs is None else stereo_configs[1]
        self.detector: Detector | None = None
        self.cameras: dict[int, dict[str, Any]] = {}
        self.capture_devices: dict[int, Any] = {}
        for index, config in enumerate(camera_configs if camera_configs is not None else [{}]):
            self._configure_camera(index, config)
        self.stereo_enabled = stereo_configs is not None
        self._stereo_configs = stereo_configs
        self._rectifier: Rectifier | None = None
        self._matcher: Matcher | None = None
        self._T_world_rectified = np.eye(4)
        if stereo_configs is not None:
            for side, config in zip(("left", "right"), stereo_configs):
                missing = [key for key in NEEDED_FOR_STEREO if key not in config]
                if missing:
                    raise InputError(f"the {side} stereo camera lacks {', '.join(missing)}; give them")
        if use_pybullet_debug:
            self.logger.warning("sliders are not supported; change translation, rotation and fov of the camera instead")

    def capture_image(self, camera_index: int = 0) -> tuple[NDArray[np.uint8] | None, NDArray[np.float32] | None]:
        """Red, green, blue, shape (height, width, 3), and depth along z [m], shape (height, width).

        Depth is None if the source has none; both are None, with a warning, without a source.
        """
        camera = self._camera(camera_index)
        if camera_index in self.capture_devices:
            success, image = self.capture_devices[camera_index].read()
            if not success:
                self.logger.warning("camera %d returned no image", camera_index)
                return None, None
            return np.ascontiguousarray(image[..., ::-1]), None
        if camera["image_path"] is not None:
            return _from_files(camera["image_path"], camera["depth_path"])
        if self.physics_client is None:
            self.logger.warning("camera %d has no source; give physics_client, use_opencv or image_path", camera_index)
            return None, None
        return self._from_pybullet(camera)

    def detect_obstacles(
        self,
        depth_image: ArrayLike,
        rgb_image: NDArray[np.uint8] | None,
        depth_threshold: float = 5.0,
        camera_index: int = 0,
        step: int = 5,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Obstacle points in the world [m], shape (N, 3), and the angle of each about z [degrees], shape (N,).

        With a detector, one point per detection; without one, every `step`-th pixel nearer than the threshold [m].
        """
        depth = as_depth(np.asarray(depth_image))
        camera = self._camera(camera_index)
        with np.errstate(invalid="ignore"):
            near = np.isfinite(depth) & (depth > 0.0) & (depth < depth_threshold)
        if self.detector is not None and rgb_image is not None:
            pixels = [_nearest_in(depth, near, found.box) for found in self.detector.detect(rgb_image)]
            u, v, z = (np.array([pixel[k] for pixel in pixels if pixel is not None]) for k in range(3))
        else:
            rows, columns = np.nonzero(near[:: max(step, 1), :: max(step, 1)])
            v, u = rows * max(step, 1), columns * max(step, 1)
            z = depth[v, u].astype(np.float64)
        K = camera["intrinsic_matrix"]
        optical = np.stack([(u - K[0, 2]) / K[0, 0] * z, (v - K[1, 2]) / K[1, 1] * z, z], axis=-1).reshape(-1, 3)
        T = camera["extrinsic_matrix"]
        world = optical @ T[:3, :3].T + T[:3, 3]
        return world.astype(np.float32), np.degrees(np.arctan2(world[:, 1], world[:, 0])).astype(np.float32)

    def compute_stereo_rectification_maps(self, image_size: tuple[int, int] = DEFAULT_SIZE) -> None:
        """Computes the maps for images of this width and height [pixels]."""
        if self._stereo_configs is None:
            raise RuntimeError("no stereo cameras; give stereo_configs")
        cv2 = opencv()
        left, right = (_complete_config(config, image_size) for config in self._stereo_configs)
        T_right_left = lie.inverse(right["extrinsic_matrix"]) @ left["extrinsic_matrix"]
        R_left, R_right, P_left, P_right = cv2.stereoRectify(
            left["intrinsic_matrix"],
            left["distortion_coeffs"],
            right["intrinsic_matrix"],
            right["distortion_coeffs"],
            image_size,
            T_right_left[:3, :3].copy(),
            T_right_left[:3, 3].reshape(3, 1).copy(),
            flags=cv2.CALIB_ZERO_DISPARITY,
            alpha=0.0,
        )[:4]
        stereo = StereoModel(
            Camera(*image_size, left["intrinsic_matrix"], left["distortion_coeffs"], R_left, P_left),
            Camera(*image_size, right["intrinsic_matrix"], right["distortion_coeffs"], R_right, P_right),
        )
        self._rectifier = Rectifier(stereo)
        self._matcher = Matcher(stereo, MatcherSettings(min_depth=0.4, max_depth=10.0, row_step=1))
        self._T_world_rectified = left["extrinsic_matrix"] @ lie.pose(R_left.T)

    def rectify_stereo_images(
        self, left_img: NDArray[np.uint8], right_img: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Rectified images, grey or in colour like the input."""
        rectifier, _ = self._prepared(left_img)
        return rectifier.left(np.asarray(left_img)), rectifier.right(np.asarray(right_img))

    def compute_disparity(self, left_rect: NDArray[np.uint8], right_rect: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Disparity of rectified images [pixels], shape (height, width); −1 where unknown."""
        _, matcher = self._prepared(left_rect)
        values = matcher.match(as_gray(left_rect), as_gray(right_rect)).values
        return np.where(np.isnan(values), np.float32(-1.0), values)

    def disparity_to_pointcloud(self, disparity: ArrayLike) -> NDArray[np.float32]:
        """Points in the world [m], shape (N, 3), of all pixels with a disparity."""
        if self._matcher is None:
            raise RuntimeError("no rectification maps; call compute_stereo_rectification_maps first")
        values = np.asarray(disparity, dtype=np.float32)
        values = np.where(values > 0.0, values, np.float32(np.nan))
        matcher = self._matcher
        found = Disparity(values, matcher.lowest, matcher.lowest + matcher.count, 1, matcher.stereo, 0.2)
        depth: DepthMap = depth_from_disparity(found)
        return points_from_depth(depth, self._T_world_rectified).unorganised().xyz

    def get_stereo_point_cloud(self, left_img: NDArray[np.uint8], right_img: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Rectifies, matches and reprojects: points in the world [m], shape (N, 3)."""
        left, right = self.rectify_stereo_images(left_img, right_img)
        return self.disparity_to_pointcloud(self.compute_disparity(left, right))

    def release(self) -> None:
        """Release the capture devices; a second call does nothing."""
        for device in self.capture_devices.values():
            device.release()
        self.capture_devices = {}

    def __del__(self) -> None:
        if hasattr(self, "capture_devices"):
            self.release()

    def _configure_camera(self, index: int, config: Config) -> None:
        size = (int(config.get("width", DEFAULT_SIZE[0])), int(config.get("height", DEFAULT_SIZE[1])))
        self.cameras[index] = {"name": f"camera_{index}", **_complete_config(config, size)}
        if config.get("use_opencv", False):
            device = opencv().VideoCapture(int(config.get("device_index", index)))
            if not device.isOpened():
                raise RuntimeError(
                    f"capture device {config.get('device_index', index)} cannot be opened; check that it is connected"
                )
            self.capture_devices[index] = device

    def _camera(self, index: int) -> dict[str, Any]:
        if index not in self.cameras:
            raise InputError(f"no camera {index}; there are: {', '.join(map(str, self.cameras))}")
        return self.cameras[index]

    def _from_pybullet(self, camera: dict[str, Any]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        from ..sim.bullet import pybullet
        from ..sim.camera import Pinhole, view_matrix

        K, (width, height) = camera["intrinsic_matrix"], camera["size"]
        pinhole = Pinhole(width, height, K[0, 0], K[1, 1], K[0, 2], K[1, 2], camera["near"], camera["far"])
        bullet = pybullet()
        _, _, colours, buffer, _ = bullet.getCameraImage(
            width,
            height,
            view_matrix(camera["extrinsic_matrix"]).T.ravel().tolist(),
            pinhole.projection_matrix().T.ravel().tolist(),
            renderer=bullet.ER_TINY_RENDERER,
            physicsClientId=self.physics_client,
        )
        rgb = np.asarray(colours, dtype=np.uint8).reshape(height, width, 4)[..., :3]
        return np.ascontiguousarray(rgb), pinhole.metric_depth(
            np.asarray(buffer, dtype=np.float32).reshape(height, width)
        )

    def _prepared(self, image: NDArray[np.uint8]) -> tuple[Rectifier, Matcher]:
        height, width = np.shape(image)[:2]
        matcher = self._matcher
        if matcher is None or (matcher.full.width, matcher.full.height) != (width, height):
            self.compute_stereo_rectification_maps((width, height))
        assert self._rectifier is not None and self._matcher is not None
        return self._rectifier, self._matcher


def _complete_config(config: Config, size: tuple[int, int]) -> dict[str, Any]:
    """A configuration with defaults for all missing entries."""
    focal = 0.5 * size[1] / math.tan(math.radians(0.5 * float(config.get("fov", 60.0))))
    K = np.array([[focal, 0.0, 0.5 * (size[0] - 1)], [0.0, focal, 0.5 * (size[1] - 1)], [0.0, 0.0, 1.0]])
    rotation = [math.radians(angle) for angle in config.get("rotation", (0.0, 0.0, 0.0))]
    return {
        **config,
        "size": size,
        "near": float(config.get("near", 0.1)),
        "far": float(config.get("far", 5.0)),
        "intrinsic_matrix": np.asarray(config.get("intrinsic_matrix", K), dtype=np.float64).reshape(3, 3),
        "distortion_coeffs": np.asarray(config.get("distortion_coeffs", np.zeros(5)), dtype=np.float64).ravel(),
        "extrinsic_matrix": transform_from_xyz_rpy(config.get("translation", (0.0, 0.0, 0.0)), rotation),
        "image_path": config.get("image_path"),
        "depth_path": config.get("depth_path"),
    }


def _from_files(image: Any, depth: Any) -> tuple[NDArray[np.uint8], NDArray[np.float32] | None]:
    cv2 = opencv()
    colours = cv2.imread(str(image), cv2.IMREAD_COLOR)
    if colours is None:
        raise InputError(f"{str(image)!r} is not a readable image; give a PNG or JPEG file")
    measured = None if depth is None else cv2.imread(str(depth), cv2.IMREAD_UNCHANGED)
    if depth is not None and measured is None:
        raise InputError(f"{str(depth)!r} is not a readable depth image; give a 16-bit PNG in millimetres")
    return np.ascontiguousarray(colours[..., ::-1]), None if measured is None else as_depth(measured)


def _nearest_in(
    depth: NDArray[np.float32], near: NDArray[np.bool_], box: tuple[float, float, float, float]
) -> tuple[float, float, float] | None:
    """Centre of a detection and the median depth of its near pixels; None if it has none."""
    left, top, right, bottom = (max(0, round(value)) for value in box)
    inside = depth[top : bottom + 1, left : right + 1][near[top : bottom + 1, left : right + 1]]
    return (0.5 * (box[0] + box[2]), 0.5 * (box[1] + box[3]), float(np.median(inside))) if inside.size else None
