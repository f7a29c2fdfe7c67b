"""PNG files without an imaging library, and the textures of scene objects."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import ShapeError
from ...typing import Array
from ..scene import Texture

Image = NDArray[np.uint8]

TEXTURE_SIZE = 512
"""Edge of a texture [pixels]."""


def png_bytes(image: Image) -> bytes:
    """An image as the content of a PNG file.

    Args:
        image: Red, green and blue from 0 to 255, shape (height, width, 3).
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise ShapeError("image", "(height, width, 3) of uint8", image.shape)
    height, width, _ = image.shape
    # Every row starts with its filter type. Type 2 stores differences to the row above, which compress well.
    difference = np.diff(image.reshape(height, -1), axis=0, prepend=np.zeros((1, 3 * width), np.uint8))
    rows = np.concatenate([np.full((height, 1), 2, np.uint8), difference], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def write_png(path: str | os.PathLike[str], image: Image) -> None:
    """Save an image; see `png_bytes`."""
    Path(path).write_bytes(png_bytes(image))


def texture_image(texture: Texture) -> Image:
    """A square grey image, multiplied by the colour of an object; deterministic."""
    y, x = np.mgrid[0:TEXTURE_SIZE, 0:TEXTURE_SIZE] / TEXTURE_SIZE
    if texture is Texture.CHECKER:
        shade = np.where((np.floor(x * 32) + np.floor(y * 32)) % 2 == 0, 1.0, 0.90)
    elif texture is Texture.SPECKLE:
        shade = _speckle()
    elif texture is Texture.WOOD:
        shade = _wood(x, y)
    else:
        shade = np.ones_like(x)
    grey = np.clip(255.0 * shade, 0.0, 255.0).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


def _speckle() -> Array:
    """Spots of several sizes, so that stereo matching works near and far."""
    random = np.random.default_rng(1)
    shade = np.zeros((TEXTURE_SIZE, TEXTURE_SIZE))
    for spots in (16, 64, 128):
        repeat = TEXTURE_SIZE // spots
        shade += np.kron(random.uniform(-1.0, 1.0, (spots, spots)), np.ones((repeat, repeat)))
    return 0.78 + 0.13 * shade


def _wood(x: Array, y: Array) -> Array:
    """Wood grain along x: wavy streaks of several widths, and the joints of boards."""
    random = np.random.default_rng(2)
    bent = y + 0.01 * np.sin(2 * np.pi * x * 2) + 0.004 * np.sin(2 * np.pi * (5 * x + 3 * y))
    shade = np.zeros_like(x)
    for streaks, depth in ((12, 0.03), (48, 0.04), (160, 0.05)):
        tone = random.uniform(-1.0, 1.0, streaks)
        shade += depth * tone[np.floor(bent % 1.0 * streaks).astype(int)]
    fine = random.uniform(-1.0, 1.0, (TEXTURE_SIZE, TEXTURE_SIZE // 16)).repeat(16, axis=1)
    board = (y * 6) % 1.0 < 0.02
    return 0.92 + shade + 0.03 * fine - 0.25 * board


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
