"""Topics of a camera: by its name, or one by one, raw or compressed."""

from __future__ import annotations

from dataclasses import dataclass

from sensor_msgs.msg import CompressedImage, Image, PointCloud2

from manipapy_core.errors import InputError

from ..common.params import Param, Value, Values

INPUTS = ("stereo", "depth", "points")
TRANSPORTS = ("raw", "compressed", "compressedDepth")
AXES = ("auto", "optical", "forward")
CAMERA_PARAMETERS = (
    Param("input", "stereo", f"Type of the input: {', '.join(INPUTS)}"),
    Param("rectify", False, "Images are raw ones and are rectified here; stereo: left/image_raw and right/image_raw"),
    Param("camera.name", "", "Namespace of the camera's topics, such as camera/depth; empty: that of the node"),
    Param("camera.topics", "", "Topics of images or clouds instead of the usual ones, separated by spaces; for stereo "
          "left and right"),
    Param("camera.info_topics", "", "Topics of the calibrations; empty: camera_info beside each image"),
    Param("camera.transport", "raw", f"Of the images: {', '.join(TRANSPORTS)}"),
    Param("camera.pose", "", "Pose of the camera instead of that on tf: a file of manipapy calibrate hand-eye, or "
          "parent x y z roll pitch yaw, or parent x y z qx qy qz qw [m, rad]"),
    Param("camera.axes", "auto", "Axes of point clouds: optical (z forward), forward (x forward, z up), or auto: by "
          "the points"),
    Param("sync_tolerance", 0.02, "Largest time difference of left and right image [s]", minimum=0.0, maximum=1.0),
)  # fmt: skip


@dataclass(frozen=True)
class CameraTopics:
    """What to subscribe to."""

    kind: type[Image] | type[CompressedImage] | type[PointCloud2]
    images: tuple[str, ...]
    infos: tuple[str, ...]
    """One per image; none for point clouds."""

    @classmethod
    def of(cls, values: Values) -> CameraTopics:
        """From the parameters of the node.

        Raises:
            InputError: Values that do not go together.
        """
        kind, transport = str(values["input"]), str(values["camera.transport"])
        for name, value, known in (
            ("input", kind, INPUTS),
            ("camera.transport", transport, TRANSPORTS),
            ("camera.axes", str(values["camera.axes"]), AXES),
        ):
            if value not in known:
                raise InputError(f"{name} is {value!r}; choose one of {', '.join(known)}")
        if (transport == "compressedDepth" and kind != "depth") or (transport != "raw" and kind == "points"):
            raise InputError(f"camera.transport {transport} does not go with input {kind}")
        prefix = str(values["camera.name"]).rstrip("/")
        image = "image_raw" if values["rectify"] else "image_rect"
        usual = {
            "stereo": (f"left/{image}", f"right/{image}"),
            "depth": ("image_rect",) if prefix else ("depth/image_rect",),
            "points": ("points",),
        }[kind]
        if kind == "depth" and values["rectify"]:
            usual = tuple(topic.replace("image_rect", "image_raw") for topic in usual)
        given = _words(values["camera.topics"])
        if given and len(given) != len(usual):
            raise InputError(f"camera.topics has {len(given)} topics; input {kind} needs {len(usual)}")
        images = given or usual
        if prefix:
            images = tuple(topic if topic.startswith("/") else f"{prefix}/{topic}" for topic in images)
        infos = _words(values["camera.info_topics"]) or tuple(beside(topic) for topic in images)
        if kind == "points":
            return cls(PointCloud2, images, ())
        if len(infos) != len(images):
            raise InputError(f"camera.info_topics has {len(infos)} topics; input {kind} needs {len(images)}")
        if transport == "raw":
            return cls(Image, images, infos)
        return cls(CompressedImage, tuple(f"{topic}/{transport}" for topic in images), infos)


def _words(value: Value) -> tuple[str, ...]:
    return tuple(str(value).replace(",", " ").split())


def beside(topic: str) -> str:
    """camera_info in the namespace of an image."""
    space, slash, _ = topic.rpartition("/")
    return f"{space}{slash}camera_info"
