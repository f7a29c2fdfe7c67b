"""Invalid input: clear errors, no crash, no outdated obstacle reported as fresh."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, lie
from manipapy_core.errors import InputError
from manipapy_core.geometry import RobotBody
from manipapy_core.perception import (
    BadCamera,
    BadImage,
    Camera,
    ClusterSettings,
    DepthImage,
    MatcherSettings,
    NoConfiguration,
    PaddingSettings,
    PerceptionPipeline,
    PerceptionSettings,
    PlaneSettings,
    PointSet,
    Reason,
    StereoModel,
    StereoPair,
    TrackSettings,
    Unsynchronised,
)

pytest.importorskip("cv2", reason="stereo vision needs OpenCV: pip install 'manipapy[perception]'")

T = lie.pose(None, [0.0, 0.0, 1.0])
FRAME_NS = 100_000_000
RNG = np.random.default_rng(11)


def pair_of(width: int, height: int) -> StereoModel:
    return StereoModel.ideal(width, height, 0.9 * width, 0.9 * width, width / 2, height / 2, 0.08)


def gray(value: int, width: int = 320, height: int = 240) -> np.ndarray:
    return np.full((height, width), value, np.uint8)


FORWARD = lie.pose(np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]), [0.0, 0.0, 1.0])
"""A camera that points along x, with an upright image."""


def a_box_in_the_air() -> tuple[DepthImage, Camera]:
    camera = pair_of(320, 240).left
    depth = np.full((240, 320), np.inf, np.float32)
    depth[100:140, 140:190] = 0.8
    return DepthImage(0, FORWARD, depth, camera), camera


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        (gray(0), gray(0), Reason.DARK),
        (gray(255), gray(255), Reason.BRIGHT),
        (gray(128), gray(128), Reason.FLAT),
        (RNG.integers(0, 255, (240, 320)).astype(np.uint8), gray(0), Reason.FEW_PIXELS),
    ],
)
def test_images_without_content_give_a_reason(left, right, reason):
    result = PerceptionPipeline(pair_of(320, 240)).feed(StereoPair(0, T, left, right))
    assert result.obstacles == () and result.candidates == ()
    assert result.reasons[0] is reason
    assert reason.value in result.describe()


def test_unrelated_images_make_no_obstacles():
    rng = np.random.default_rng(5)
    pipeline = PerceptionPipeline(pair_of(320, 240))
    for step in range(4):
        left, right = rng.integers(0, 255, (2, 240, 320)).astype(np.uint8)
        result = pipeline.feed(StereoPair(step * FRAME_NS, T, left, right))
        assert result.reasons == (Reason.FEW_PIXELS,) and result.obstacles == () == result.candidates


@pytest.mark.parametrize(("width", "height"), [(1, 1), (4, 3), (2, 480), (640, 2)])
def test_tiny_images_are_rejected(width, height):
    with pytest.raises(InputError, match="too small"):
        PerceptionPipeline(pair_of(width, height)).feed(
            StereoPair(0, T, gray(9, width, height), gray(9, width, height))
        )


def test_4k_images_are_scaled_down():
    rng = np.random.default_rng(1)
    small = rng.integers(0, 255, (540, 960)).astype(np.uint8)
    left = np.kron(small, np.ones((4, 4), np.uint8))
    right = np.roll(left, -240, axis=1)  # 40 pixels at a width of 640
    stereo = pair_of(3840, 2160)
    result = PerceptionPipeline(stereo, settings=PerceptionSettings(planes=PlaneSettings(max_planes=0))).feed(
        StereoPair(0, T, left, right)
    )
    assert result.disparity.values.shape[1] == 640
    assert np.nanmedian(result.disparity.values) == pytest.approx(40.0, abs=0.2)
    assert np.nanmedian(result.depth.depth) == pytest.approx(stereo.focal * stereo.baseline / 240, rel=0.01)


def test_image_size_mismatch_is_rejected():
    with pytest.raises(BadImage, match="one size"):
        StereoPair(0, T, gray(9), gray(9, 321))
    with pytest.raises(InputError, match="camera_info"):
        PerceptionPipeline(pair_of(640, 480)).feed(StereoPair(0, T, gray(9), gray(9)))
    with pytest.raises(InputError, match="no stereo model"):
        PerceptionPipeline().feed(StereoPair(0, T, gray(9), gray(9)))
    with pytest.raises(InputError, match="size of its camera"):
        PerceptionPipeline().feed(DepthImage(0, T, np.ones((10, 10), np.float32), pair_of(320, 240).left))


@pytest.mark.parametrize(
    ("image", "encoding", "word"),
    [
        (gray(9), "rgb8", "declared as rgb8"),
        (gray(9), "yuv422", "yuv422"),
        (gray(9).astype(np.float32), "", "float32"),
        (np.zeros((240, 320, 2), np.uint8), "", "shape"),
        (np.zeros((240, 320, 3), np.uint16), "", "16 bits"),
        (np.zeros((0, 0), np.uint8), "", "empty"),
        (np.zeros(5, np.uint8), "", "shape"),
    ],
)
def test_wrong_encoding_is_reported(image, encoding, word):
    with pytest.raises(BadImage, match=word):
        PerceptionPipeline(pair_of(320, 240)).feed(StereoPair(0, T, image, image, encoding=encoding))


@pytest.mark.parametrize(
    ("depth", "encoding"),
    [(np.ones((240, 320), np.uint8), ""), (np.ones((240, 320), np.float32), "16UC1"), (np.ones((240, 320)), "rgb8")],
)
def test_wrong_depth_encoding_is_rejected(depth, encoding):
    with pytest.raises(BadImage):
        PerceptionPipeline().feed(DepthImage(0, T, depth, pair_of(320, 240).left, encoding=encoding))


def test_unsynchronised_images_are_rejected():
    with pytest.raises(Unsynchronised, match="apart") as error:
        StereoPair(0, T, gray(9), gray(9), right_time_ns=50_000_000)
    assert error.value.skew_ns == 50_000_000


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: StereoModel.ideal(320, 240, 300, 300, 160, 120, 0.0), "baseline"),
        (lambda: StereoModel.ideal(320, 240, 300, 300, 160, 120, -0.1), "swapped"),
        (lambda: StereoModel.ideal(320, 240, 300, 300, 160, 120, np.nan), "finite"),
        (lambda: StereoModel.ideal(320, 240, 0, 300, 160, 120, 0.1), "focal"),
        (lambda: StereoModel.ideal(0, 240, 300, 300, 160, 120, 0.1), "pixels"),
        (lambda: StereoModel(pair_of(320, 240).left, pair_of(640, 480).right), "one size"),
        (lambda: StereoModel(pair_of(320, 240).left, pair_of(320, 240).left), "baseline"),
        (lambda: Camera.from_info(320, 240, np.zeros(9)), "not calibrated"),
        (lambda: Camera.from_info(320, 240, np.full(9, np.nan)), "nan"),
        (lambda: Camera.from_info(320, 240, [1, 2]), "9"),
        (lambda: Camera.from_info(320, 240, np.eye(3), d=[0.1]), "coefficients"),
        (lambda: Camera.from_info(320, 240, np.eye(3), d=[np.inf] * 5), "inf"),
        (lambda: Camera.from_info(320, 240, np.eye(3), r=2 * np.eye(3)), "rotation"),
        (lambda: Camera.from_info(320, 240, np.eye(3), distortion_model="magic"), "magic"),
    ],
)
def test_invalid_cameras_are_rejected(make, word):
    with pytest.raises(BadCamera, match=word):
        make()


def test_invalid_camera_pose_is_rejected():
    for pose in (np.zeros((4, 4)), np.full((4, 4), np.nan), np.eye(3)):
        with pytest.raises(InputError, match="T_base_optical"):
            StereoPair(0, pose, gray(9), gray(9))


@pytest.mark.parametrize("points", [np.zeros((5, 2)), np.zeros(3), np.zeros((5, 3), np.int64), np.zeros((2, 2, 2, 3))])
def test_points_of_wrong_shape_are_rejected(points):
    with pytest.raises(InputError, match="points"):
        PerceptionPipeline().feed(PointSet(0, T, points))


@pytest.mark.parametrize("points", [np.empty((0, 3)), np.full((50, 3), np.nan), np.full((4, 5, 3), np.inf)])
def test_frames_without_points_give_a_reason(points):
    result = PerceptionPipeline().feed(PointSet(0, T, points))
    assert result.obstacles == () and Reason.FEW_PIXELS in result.reasons


def test_self_filter_requires_joint_positions():
    robot = Robot.from_urdf("ur5")
    pipeline = PerceptionPipeline(body=RobotBody.build(robot, robot.tree()))
    frame, camera = a_box_in_the_air()
    with pytest.raises(NoConfiguration):
        pipeline.feed(frame)
    with pytest.raises(InputError, match="q"):
        pipeline.feed(DepthImage(0, FORWARD, frame.depth, camera, q=[0.0, 1.0]))
    assert pipeline.feed(DepthImage(0, FORWARD, frame.depth, camera, q=np.zeros(6))).candidates


def test_obstacles_age_after_a_bad_frame():
    frame, camera = a_box_in_the_air()
    pipeline = PerceptionPipeline(pair_of(320, 240))
    pipeline.feed(frame)
    (found,) = pipeline.feed(DepthImage(FRAME_NS, FORWARD, frame.depth, camera)).obstacles
    assert found.fresh
    with pytest.raises(BadImage):
        pipeline.feed(DepthImage(2 * FRAME_NS, FORWARD, np.ones((240, 320), np.uint8), camera))
    result = pipeline.feed(StereoPair(5 * FRAME_NS, FORWARD, gray(0), gray(0)))
    (kept,) = result.obstacles
    assert kept.id == found.id and not kept.fresh and result.fresh == ()
    assert kept.unseen == pytest.approx(0.4)
    assert "not detected for 0.4 s" in result.describe()


def test_repeated_frame_and_time_jump_back():
    frame, camera = a_box_in_the_air()
    pipeline = PerceptionPipeline()
    later = DepthImage(FRAME_NS, FORWARD, frame.depth, camera)
    pipeline.feed(frame)
    first = pipeline.feed(later)
    again = pipeline.feed(later)
    assert Reason.REPEATED in again.reasons
    assert again.obstacles[0].hits == first.obstacles[0].hits
    restarted = pipeline.feed(frame)
    assert Reason.CLOCK_WENT_BACK in restarted.reasons
    assert restarted.obstacles == () and restarted.candidates[0].id != first.obstacles[0].id


def test_reason_names_the_stage_that_removed_all_points():
    frame, camera = a_box_in_the_air()
    far = PerceptionSettings(lower=(5.0, 5.0, 5.0), upper=(6.0, 6.0, 6.0))
    assert PerceptionPipeline(settings=far).feed(frame).reasons == (Reason.NOTHING_IN_BOX,)
    wall = DepthImage(0, FORWARD, np.full((240, 320), 1.0, np.float32), camera)
    flat = PerceptionSettings(planes=PlaneSettings(max_tilt=np.pi / 2))
    assert PerceptionPipeline(settings=flat).feed(wall).reasons == (Reason.ONLY_PLANES,)
    picky = PerceptionSettings(clusters=ClusterSettings(min_points=5000))
    assert PerceptionPipeline(settings=picky).feed(frame).reasons == (Reason.ONLY_NOISE,)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MatcherSettings(min_depth=2.0, max_depth=1.0),
        lambda: MatcherSettings(block_size=4),
        lambda: MatcherSettings(sigma=0.0),
        lambda: MatcherSettings(uniqueness_ratio=-1),
        lambda: MatcherSettings(max_residual=0.0),
        lambda: MatcherSettings(max_sigma=0.0),
        lambda: PlaneSettings(distance_threshold=0.0),
        lambda: PlaneSettings(max_tilt=3.0),
        lambda: ClusterSettings(eps=0.0),
        lambda: ClusterSettings(min_samples=0),
        lambda: PaddingSettings(base=-0.1),
        lambda: TrackSettings(confirm=0),
        lambda: TrackSettings(gate=-1.0),
        lambda: PerceptionSettings(voxel_size=0.0),
        lambda: PerceptionSettings(lower=(0, 0, 0), upper=(0, 1, 1)),
        lambda: PerceptionSettings(self_padding=-0.1),
    ],
)
def test_invalid_settings_are_rejected(make):
    with pytest.raises(InputError):
        make()
