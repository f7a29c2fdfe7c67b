"""Matching of surfaces with much, little and no texture, in images with different noise."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.perception import (
    Matcher,
    MatcherSettings,
    PerceptionPipeline,
    PerceptionSettings,
    StereoModel,
    StereoPair,
)
from manipapy_core.sim import look_at

cv2 = pytest.importorskip("cv2", reason="stereo vision needs OpenCV: pip install 'manipapy[perception]'")

STEREO = StereoModel.ideal(640, 480, 520.0, 520.0, 319.5, 239.5, 0.1)
DISPARITY = 52
"""Of a plate 1 m away [pixels]."""
PLATE = np.s_[96:144, 295:405]
"""Its disparities without its border; two rows of the image are one."""
BESIDE = np.s_[85:155, 255:440]
"""The plate and the windows that contain a part of it."""
T_BASE_LEFT = look_at([1.0, 0.0, 0.3], [0.0, 0.0, 0.3])


def images(noise: float, texture: float, seed: int = 0) -> list[np.ndarray]:
    """A plate in front of a plain, shaded wall.

    Args:
        noise: Standard deviation of the pixels [grey values].
        texture: The same of the texture of the plate [grey values].
        seed: Of the noise; the texture stays the same.
    """
    pattern, random = np.random.default_rng(4), np.random.default_rng([9, seed])
    wave = cv2.GaussianBlur(pattern.normal(size=(120, 140)), (0, 0), 2.0)
    found = []
    for column in (280, 280 - DISPARITY):
        image = np.tile(np.linspace(105.0, 135.0, 640), (480, 1))
        image[180:300, column : column + 140] = 120.0 + texture * wave / wave.std()
        image += random.normal(0.0, noise, image.shape)
        found.append(np.clip(np.rint(image), 0, 255).astype(np.uint8))
    return found


def matched(noise: float, texture: float, **changes) -> tuple[np.ndarray, float]:
    """Disparities of the plate, and the share of the plain wall that has some."""
    values = Matcher(STEREO, MatcherSettings(min_depth=0.4, **changes)).match(*images(noise, texture)).values
    wall = np.isfinite(values)
    wall[BESIDE] = False
    return values[PLATE], float(wall.mean())


@pytest.mark.parametrize("noise", [0.0, 0.3, 0.7])
def test_weak_texture_is_matched_in_images_with_little_noise(noise):
    plate, wall = matched(noise, texture=2.5)
    assert np.isfinite(plate).mean() > 0.9
    assert np.nanmedian(np.abs(plate - DISPARITY)) < 0.05
    assert wall == 0.0


@pytest.mark.parametrize("noise", [1.5, 3.0, 6.0])
def test_noise_is_hardly_matched_whatever_its_amplitude(noise):
    plate, wall = matched(noise, texture=25.0)
    assert np.isfinite(plate).mean() > 0.95 and np.nanmedian(np.abs(plate - DISPARITY)) < 0.2
    assert wall < 0.005
    assert matched(noise, texture=25.0, max_sigma=np.inf)[1] > 0.05


def test_weak_texture_in_strong_noise_is_rejected():
    """Its disparities would be off by half a pixel and more."""
    assert np.isfinite(matched(6.0, texture=2.5)[0]).mean() < 0.5
    assert np.isfinite(matched(6.0, texture=2.5, max_sigma=np.inf)[0]).mean() > 0.8


DEFAULT = MatcherSettings().max_sigma


@pytest.mark.parametrize(
    ("noise", "texture", "max_sigma"),
    [
        *((noise, texture, DEFAULT) for noise in (0.0, 0.7, 1.5, 3.0) for texture in (12.0, 25.0)),
        (6.0, 25.0, 0.35),
    ],
)
def test_only_the_plate_is_an_obstacle(noise, texture, max_sigma):
    pipeline = PerceptionPipeline(STEREO, settings=PerceptionSettings(matcher=MatcherSettings(max_sigma=max_sigma)))
    for number in range(4):
        result = pipeline.feed(StereoPair(number * 100_000_000, T_BASE_LEFT, *images(noise, texture, number)))
        # The second frame confirms it.
        assert len(result.obstacles) == (number > 0), result.describe()
    (plate,) = result.obstacles
    assert plate.centre == pytest.approx([0.0, 0.06, 0.3], abs=0.04)
    assert np.sort(plate.size)[1:] == pytest.approx([0.23, 0.27], abs=0.04)


def test_matching_is_repeatable():
    matcher, (left, right) = Matcher(STEREO), images(1.5, 6.0)
    first = matcher.match(left, right).values
    matcher.match(*images(6.0, 25.0))
    np.testing.assert_array_equal(matcher.match(left, right).values, first)
