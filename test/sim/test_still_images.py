"""Still images: PNG files, shadows and colours."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

from manipapy_core.errors import InputError, ShapeError
from manipapy_core.model import BoxGeometry, SphereGeometry
from manipapy_core.sim import GroundPlane, SceneObject, SimWorld, png_bytes, render, write_png
from sim.arms import HOME, arm


def decode(data: bytes) -> np.ndarray:
    """The pixels of a PNG whose rows are filtered by difference to the row above."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[place + 8 + length : place + 12 + length])[0]
        chunks[kind], place = body, place + 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert (rows[:, 0] == 2).all()
    return np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8).reshape(height, width, 3)


def test_png_round_trip(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (13, 7, 3), dtype=np.uint8)
    write_png(tmp_path / "image.png", image)
    np.testing.assert_array_equal(decode((tmp_path / "image.png").read_bytes()), image)
    with pytest.raises(ShapeError, match="height"):
        png_bytes(image[..., 0])


def test_ball_casts_a_soft_shadow_away_from_the_sun():
    T = np.eye(4)
    T[2, 3] = 0.3
    small = {"width": 160, "height": 160, "lights": 15, "supersample": 1}
    view = {"eye": [0.0, -0.01, 3.0], "target": [0.0, 0.0, 0.0], **small}
    with SimWorld() as world:
        world.spawn(SceneObject("floor", GroundPlane(), rgba=(0.8, 0.8, 0.8, 1.0)))
        bare = render(world, **view).astype(float).mean(axis=2)
        world.spawn(SceneObject("ball", SphereGeometry(0.12), T, rgba=(0.9, 0.1, 0.1, 1.0)))
        image = render(world, **view).astype(float)
    grey = image.mean(axis=2)
    ball = image[..., 0] > 1.5 * image[..., 1]
    darker = (grey < 0.9 * bare) & ~ball
    v, u = np.nonzero(darker)
    # The sun is at +x, −y; from above x is to the right and y up, so the shadow is to the left and up.
    assert len(v) > 50 and u.mean() < 79 and v.mean() < 79
    half = (grey > 0.75 * bare) & darker
    assert half.any(), "the edge of the shadow is soft"


def test_arm_is_centred_in_its_own_colours(tmp_path):
    with SimWorld() as world:
        world.add_robot(arm("ur5"), q=HOME["ur5"])
        image = render(world, width=200, height=140, lights=6, supersample=1).astype(float)
    assert image.shape == (140, 200, 3)
    red, blue = image[..., 0], image[..., 2]
    caps = blue > red + 25  # the blue caps of the joints
    assert caps.sum() > 20
    v, u = np.nonzero(caps)
    assert 50 < u.mean() < 150 and 30 < v.mean() < 110


def test_world_without_robots_is_rendered():
    with SimWorld() as world:
        world.spawn(SceneObject("box", BoxGeometry([0.2, 0.2, 0.2])))
        assert render(world, width=40, height=30, lights=4, supersample=1).shape == (30, 40, 3)
        with pytest.raises(InputError, match="lights"):
            render(world, lights=1)
