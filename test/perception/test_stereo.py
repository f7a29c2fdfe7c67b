"""Camera models, rectification, matching and depth, against explicit projections."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.errors import InputError
from manipapy_core.perception import (
    BadCamera,
    Camera,
    Disparity,
    Distortion,
    Matcher,
    MatcherSettings,
    Method,
    Points,
    Rectifier,
    StereoModel,
    as_depth,
    as_gray,
    depth_from_disparity,
    depth_from_image,
    points_from_depth,
    transformed,
)

cv2 = pytest.importorskip("cv2", reason="stereo vision needs OpenCV: pip install 'manipapy[perception]'")

K = np.array([[210.0, 0, 101.0], [0, 205.0, 77.0], [0, 0, 1]])
PAIR = StereoModel.ideal(200, 150, 210.0, 205.0, 101.0, 77.0, 0.07)
RNG = np.random.default_rng(3)


def disparity_of(values, sigma: float = 0.25, stereo: StereoModel = PAIR) -> Disparity:
    values = np.asarray(values, dtype=np.float32)
    return Disparity(values, 0, 64, 1, stereo, sigma)


def test_stereo_model_from_camera_info():
    P = np.column_stack([K, [-210.0 * 0.07, 0, 0]])
    P_left = np.column_stack([K, np.zeros(3)])
    left = Camera.from_info(200, 150, K.ravel(), [0.0] * 5, np.eye(3).ravel(), P_left.ravel())
    right = Camera.from_info(200, 150, K.ravel().tolist(), p=P.ravel().tolist())
    pair = StereoModel(left, right)
    assert pair.baseline == pytest.approx(0.07) and pair.focal == 210.0 and pair.rectified
    assert pair.disparity_of(0.7) == pytest.approx(21.0)
    assert Camera.from_info(200, 150, K.ravel(), [0.1] * 8, distortion_model="rational_polynomial").model is (
        Distortion.RATIONAL
    )


def test_depth_and_points_invert_projection():
    """Points are projected explicitly to both cameras and recovered from the disparity."""
    z = RNG.uniform(0.5, 2.0, (150, 200))
    u, v = np.meshgrid(np.arange(200), np.arange(150))
    x, y = (u - 101.0) / 210.0 * z, (v - 77.0) / 205.0 * z
    u_right = 210.0 * (x - 0.07) / z + 101.0
    depth = depth_from_disparity(disparity_of(u - u_right))
    np.testing.assert_allclose(depth.depth, z, rtol=1e-4)
    T = lie.exp_se3([0.3, -0.4, 0.5, 1.0, 2.0, 3.0])
    points = points_from_depth(depth, T)
    expected = np.stack([x, y, z], axis=-1) @ T[:3, :3].T + T[:3, 3]
    np.testing.assert_allclose(points.xyz, expected, atol=2e-4)
    assert points.organised and points.xyz.shape == (150, 200, 3)
    again = transformed(points_from_depth(depth), T)
    np.testing.assert_allclose(again.xyz, points.xyz, atol=1e-5)


def test_depth_sigma_is_derivative_times_disparity_sigma():
    d = np.array([[3.0, 10.0, 30.0]])
    depth = depth_from_disparity(disparity_of(d, 0.25))
    step = 1e-3
    slope = [(210 * 0.07 / (value - step) - 210 * 0.07 / (value + step)) / (2 * step) for value in d[0]]
    np.testing.assert_allclose(depth.sigma[0], 0.25 * np.array(slope), rtol=1e-4)


def test_invalid_depths_follow_rep_117():
    d = np.array([[np.nan, 0.0, -1.0, 60.0, 20.0, 2.0]])
    depth = depth_from_disparity(disparity_of(d), min_depth=0.3, max_depth=5.0).depth[0]
    assert np.isnan(depth[0]) and depth[1] == np.inf and depth[2] == np.inf
    assert depth[3] == -np.inf and depth[4] == pytest.approx(0.735) and depth[5] == np.inf
    points = points_from_depth(depth_from_disparity(disparity_of(d), min_depth=0.3, max_depth=5.0))
    assert len(points.unorganised().xyz) == 1
    assert isinstance(points.unorganised(), Points)


def test_cameras_with_different_principal_points():
    P = np.column_stack([K, [-210.0 * 0.07, 0, 0]])
    P[0, 2] -= 6.0
    pair = StereoModel(Camera(200, 150, K), Camera(200, 150, K, P=P))
    z = 1.4
    d = 101.0 - (210.0 * (0.0 - 0.07) / z + 95.0)
    assert pair.disparity_of(z) == pytest.approx(d)
    assert depth_from_disparity(disparity_of([[d]], stereo=pair)).depth[0, 0] == pytest.approx(z, rel=1e-5)


def test_scaled_camera_projects_to_scaled_pixels():
    point = np.array([0.2, -0.1, 1.3])
    full = PAIR.left.projection @ [*point, 1.0]
    half = PAIR.scaled(100, 75).left.projection @ [*point, 1.0]
    # Pixel centres: (u + ½) scales, not u.
    assert (full[:2] / full[2] + 0.5) / 2 - 0.5 == pytest.approx(half[:2] / half[2])
    assert PAIR.scaled(100, 75).baseline == pytest.approx(0.07)


def shifted_noise(shift: float):
    """Images of a textured wall at one depth."""
    wide = cv2.GaussianBlur(RNG.integers(0, 255, (150, 260)).astype(np.uint8), (0, 0), 1.2)
    u, v = np.meshgrid(np.arange(200, dtype=np.float32), np.arange(150, dtype=np.float32))
    left = cv2.remap(wide, u + 10, v, cv2.INTER_CUBIC)
    right = cv2.remap(wide, u + np.float32(10 + shift), v, cv2.INTER_CUBIC)
    return left, right


@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("row_step", [1, 2])
def test_wall_is_matched_with_subpixel_accuracy(method, row_step):
    left, right = shifted_noise(14.3)
    settings = MatcherSettings(method=method, min_depth=0.5, max_depth=5.0, row_step=row_step, speckle_size=20)
    found = Matcher(PAIR, settings).match(left, right)
    assert found.values.shape == (150 // row_step, 200)
    values = found.values[:, 20:-10]
    assert np.isfinite(values).mean() > 0.8
    assert np.nanmedian(np.abs(values - 14.3)) < 0.2
    assert found.full_size().shape == (150, 200)
    # Columns without a correspondence in the right image are rejected, except for a few chance matches.
    assert np.isfinite(found.values[:, :14]).mean() < 0.15
    assert np.isfinite(found.values[:, 16:60]).mean() > 0.6


def test_odd_number_of_rows():
    pair = StereoModel.ideal(200, 149, 210.0, 205.0, 101.0, 77.0, 0.07)
    left, right = shifted_noise(14.0)
    matcher = Matcher(pair, MatcherSettings(min_depth=0.5, max_depth=5.0, row_step=2))
    found = matcher.match(np.ascontiguousarray(left[:149]), np.ascontiguousarray(right[:149]))
    assert found.values.shape == (74, 200)
    assert found.full_size(149).shape == (149, 200) and np.isnan(found.full_size(149)[148]).all()
    assert found.stereo.left.projection[1, 1] == pytest.approx(102.5)
    assert found.stereo.left.projection[1, 2] == pytest.approx(77.5 / 2 - 0.5)


def test_rectified_images_are_returned_unchanged():
    left, right = shifted_noise(10.0)
    out = Rectifier(PAIR).pair(left, right)
    assert out[0] is left and out[1] is right


@pytest.mark.parametrize("model", [Distortion.PLUMB_BOB, Distortion.RATIONAL, Distortion.FISHEYE])
def test_rectification_undoes_lens_and_rotation(model):
    """A dot at the raw projection of a point is at its projection by P after rectification."""
    D = {"plumb_bob": [-0.2, 0.05, 0.001, -0.002, 0.0], "equidistant": [0.05, -0.01, 0.0, 0.0]}
    D = np.array(D.get(model.value, [0.1, 0.02, 0.001, 0.0, 0.0, 0.2, 0.05, 0.01]))
    R = lie.exp_so3([0.02, -0.03, 0.01])
    P = np.column_stack([K, np.zeros(3)])
    camera = Camera(200, 150, K, D, R, P, model)
    right = Camera(200, 150, K, P=np.column_stack([K, [-14.7, 0, 0]]))
    point = np.array([0.15, 0.1, 1.0])
    if model is Distortion.FISHEYE:
        raw = cv2.fisheye.projectPoints(point.reshape(1, 1, 3), np.zeros(3), np.zeros(3), K, D)[0].ravel()
    else:
        raw = cv2.projectPoints(point.reshape(1, 3), np.zeros(3), np.zeros(3), K, D)[0].ravel()
    u, v = np.meshgrid(np.arange(200), np.arange(150))
    image = (250 * np.exp(-((u - raw[0]) ** 2 + (v - raw[1]) ** 2) / 8.0)).astype(np.uint8)
    straight = Rectifier(StereoModel(camera, right)).left(image).astype(float)
    middle = np.array([(straight * u).sum(), (straight * v).sum()]) / straight.sum()
    expected = P @ [*(R @ point), 1.0]
    assert middle == pytest.approx(expected[:2] / expected[2], abs=0.15)


def test_encodings_are_decoded():
    rgb = RNG.integers(0, 255, (8, 9, 3)).astype(np.uint8)
    gray = as_gray(rgb)
    np.testing.assert_array_equal(gray, as_gray(rgb, "rgb8"))
    np.testing.assert_array_equal(gray, as_gray(rgb[..., ::-1], "bgr8"))
    np.testing.assert_array_equal(gray, as_gray(np.dstack([rgb, rgb[..., :1]]), "rgba8"))
    assert np.abs(gray - rgb @ [0.299, 0.587, 0.114]).max() < 1.0
    deep = (gray.astype(np.uint16) << 4) | 3
    deep[0, 0] = 4095
    np.testing.assert_array_equal(as_gray(deep, "mono16")[1:], gray[1:])
    millimetres = np.array([[0, 1500]], np.uint16)
    metres = as_depth(millimetres, "16UC1")
    assert np.isnan(metres[0, 0]) and metres[0, 1] == pytest.approx(1.5)
    assert np.isnan(as_depth(np.array([[0.0, -1.0]]))).all()
    assert as_depth(np.array([[-np.inf, np.inf]], np.float32)).tolist() == [[-np.inf, np.inf]]
    depth = depth_from_image(metres, Camera(2, 1, K), noise=0.002)
    assert depth.sigma[0, 1] == pytest.approx(0.0045)


def test_camera_error_names_the_entry():
    with pytest.raises(BadCamera, match=r"K\[2\] is nan"):
        Camera.from_info(200, 150, [210.0, 0, np.nan, 0, 205, 77, 0, 0, 1])


@pytest.mark.parametrize("shift", [14.0, 14.3, 14.5, 17.8])
@pytest.mark.parametrize("brighter", [0, 12])
def test_search_on_averaged_columns_is_refined(shift, brighter):
    """Also if the right image is brighter; without refinement the error would be that of the search."""
    left, right = shifted_noise(shift)
    left, right = (cv2.GaussianBlur(image, (0, 0), 1.2) for image in (left, right))
    right = np.clip(right.astype(int) + brighter, 0, 255).astype(np.uint8)
    settings = MatcherSettings(min_depth=0.5, max_depth=5.0, column_step=2, speckle_size=20)
    found = Matcher(PAIR, settings).match(left, right)
    assert found.values.shape == (150, 200)
    values = found.values[5:-5, 30:-10]
    assert np.isfinite(values).mean() > 0.8
    error = np.abs(values - shift)
    assert np.nanmedian(error) < 0.07
    assert np.nanmean(error > 1.0) < 0.02


def test_odd_number_of_columns():
    pair = StereoModel.ideal(199, 150, 210.0, 205.0, 101.0, 77.0, 0.07)
    left, right = shifted_noise(14.0)
    matcher = Matcher(pair, MatcherSettings(min_depth=0.5, max_depth=5.0, column_step=2))
    found = matcher.match(np.ascontiguousarray(left[:, :199]), np.ascontiguousarray(right[:, :199]))
    assert found.values.shape == (150, 199) and np.isnan(found.values[:, 198]).all()
    assert np.nanmedian(np.abs(found.values - 14.0)) < 0.2


@pytest.mark.parametrize("step", [-1, 3])
def test_invalid_column_steps_are_rejected(step):
    with pytest.raises(InputError, match="column_step"):
        MatcherSettings(column_step=step)


def two_walls():
    """Images of a textured wall with a plate in front of it, with noise, and the true disparities of the left one."""
    random = np.random.default_rng(5)
    waves = [cv2.GaussianBlur(random.normal(size=(150, 300)), (0, 0), 2.5) for _ in range(2)]
    far, near = (np.clip(128 + 45 * wave / wave.std(), 0, 255).astype(np.uint8) for wave in waves)
    truth = np.full((150, 200), 8.0, np.float32)
    truth[40:110, 80:130] = 26.0
    left, right = far[:, 10:210].copy(), far[:, 18:218].copy()
    left[40:110, 80:130], right[40:110, 54:104] = near[40:110, 80:130], near[40:110, 80:130]
    noisy = [np.clip(image + random.normal(0.0, 2.0, image.shape), 0, 255).astype(np.uint8) for image in (left, right)]
    return *noisy, truth


def test_matches_across_an_outline_are_rejected():
    """What only one camera sees, and blocks with two objects, have no disparity at which the images agree."""
    left, right, truth = two_walls()
    wrong, known = {}, {}
    for residual in (12.0, np.inf):
        settings = MatcherSettings(min_depth=0.5, max_depth=5.0, column_step=2, max_residual=residual)
        values = Matcher(PAIR, settings).match(left, right).values[:, 30:]
        wrong[residual] = int(np.sum(np.abs(values - truth[:, 30:]) > 2.0))
        known[residual] = float(np.isfinite(values).mean())
    assert wrong[12.0] < 0.4 * wrong[np.inf]
    assert known[12.0] > 0.9 * known[np.inf]


def test_noisy_images_are_not_rejected_as_a_whole():
    left, right = shifted_noise(14.0)
    random = np.random.default_rng(0)
    left, right = (np.clip(i + random.normal(0.0, 9.0, i.shape), 0, 255).astype(np.uint8) for i in (left, right))
    found = Matcher(PAIR, MatcherSettings(min_depth=0.5, max_depth=5.0, column_step=2)).match(left, right)
    assert np.isfinite(found.values[:, 30:]).mean() > 0.8
