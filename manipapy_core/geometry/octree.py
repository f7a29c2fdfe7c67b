"""Streams of OctoMap octrees, as octomap_msgs/Octomap carries them: read to occupied leaves, and written from them.

Binary stream: two bytes per inner node, two bits per child (01 occupied leaf, 10 free leaf, 11 inner node, 00 unknown;
the lower bit is written on the left), inner children follow depth first. Full stream: per node its data, which begins
with the log-odds of occupancy as float32, and one byte with a bit per child. Child i lies on the upper side in x, y, z
where bit 0, 1, 2 of i is set. Streams come from other machines: sizes and depths are bounded, and a stream that ends
early or late is refused.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..jit import njit
from ..typing import Array

DEPTH = 16
"""Levels of every OctoMap tree below the root."""
MOST_BYTES = 32 * 1024 * 1024
"""Of a stream."""
MOST_LEAVES = 2_000_000
"""Occupied ones."""
NODE_BYTES = {"OcTree": 4, "ColorOcTree": 7}
"""Data of a node in a full stream, by the type of the tree."""
_STACK = 8 * (DEPTH + 1)
_TRUNCATED, _TOO_DEEP, _LEFT_OVER, _NOT_A_NUMBER = -1, -2, -3, -4
_REASONS = {
    _TRUNCATED: "ends in the middle of a node",
    _TOO_DEEP: f"is deeper than {DEPTH} levels",
    _LEFT_OVER: "continues after the last node",
    _NOT_A_NUMBER: "has an occupancy that is not a number",
}


def occupied_leaves(
    data: bytes | memoryview, resolution: float, *, binary: bool = True, kind: str = "OcTree"
) -> tuple[Array, Array]:
    """Occupied leaves of a stream: centres in the frame of the tree [m], shape (leaves, 3), and edges [m], (leaves,).

    Args:
        resolution: Edge of the smallest cells [m].
        binary: Whether it is a binary or a full stream.
        kind: Type of the tree: OcTree or ColorOcTree.

    Raises:
        InputError: Not a stream of such a tree, or too large.
    """
    if kind not in NODE_BYTES:
        raise InputError(f"the octree is of type {kind!r}; choose one of {', '.join(NODE_BYTES)}")
    if not 1e-3 <= resolution <= 100.0:
        raise InputError(f"the octree has a resolution of {resolution!r} m; give 0.001 to 100 m")
    # A copy that may be written to, so that the reader is compiled for one type of array.
    stream = np.array(np.frombuffer(data, np.uint8))
    if len(stream) > MOST_BYTES:
        raise InputError(f"the octree has {len(stream):,} bytes; at most {MOST_BYTES:,} are read")
    node_bytes = 0 if binary else NODE_BYTES[kind]
    count = _read(stream, node_bytes, np.empty((0, 4), np.int32)) if len(stream) else 0
    if count < 0:
        raise InputError(f"the octree of {len(stream):,} bytes {_REASONS[count]}; is it a {kind} stream of OctoMap?")
    if count > MOST_LEAVES:
        raise InputError(
            f"the octree has {count:,} occupied leaves; at most {MOST_LEAVES:,} are read: prune or crop it"
        )
    leaves = np.empty((count, 4), np.int32)
    if count:
        _read(stream, node_bytes, leaves)
    side = leaves[:, 3].astype(np.float64)
    return (leaves[:, :3] + 0.5 * side[:, None] - 2 ** (DEPTH - 1)) * resolution, side * resolution


def binary_stream(centres: Array, sizes: Array) -> tuple[bytes, float]:
    """A binary stream with occupied leaves, and its resolution [m]; everything else in it is unknown.

    Args:
        centres: [m], shape (leaves, 3); at least one.
        sizes: Edges [m], shape (leaves,).

    Raises:
        InputError: They are not leaves of one octree about the origin.
    """
    resolution = float(np.min(sizes))
    side = np.round(sizes / resolution).astype(np.int64)
    lower = centres / resolution - 0.5 * side[:, None] + 2 ** (DEPTH - 1)
    corner = np.round(lower).astype(np.int64)
    inside = (corner.min() >= 0) and ((corner + side[:, None]).max() <= 2**DEPTH)
    aligned = np.allclose(lower, corner, atol=1e-2) and not (corner % side[:, None]).any()
    if not (inside and aligned and not (side & (side - 1)).any()):
        raise InputError("the leaves are not those of one octree about the origin of their frame")
    code = np.zeros(len(corner), np.int64)
    for bit in range(DEPTH):
        for axis in range(3):
            code |= (corner[:, axis] >> bit & 1) << (3 * bit + axis)
    order = np.lexsort((-side, code))
    size = _write(code[order], side[order], np.empty(0, np.uint8))
    stream = np.empty(size, np.uint8)
    _write(code[order], side[order], stream)
    return stream.tobytes(), resolution


@njit(cache=True, nogil=True)
def _read(stream, node_bytes, leaves):  # type: ignore[no-untyped-def]
    """Number of occupied leaves, whose lower corners and edges [cells] go to `leaves` if there is room; or an error."""
    stack = np.empty((_STACK, 5), np.int32)
    stack[0] = (0, 0, 0, 2**DEPTH, DEPTH)
    height, at, count = 1, 0, 0
    number = np.empty(1, np.float32)
    as_bytes = number.view(np.uint8)
    head = 2 if node_bytes == 0 else node_bytes + 1
    while height > 0:
        height -= 1
        x, y, z, side, level = stack[height]
        if at + head > len(stream):
            return _TRUNCATED
        inner = 0
        if node_bytes == 0:
            bits = int(stream[at]) | int(stream[at + 1]) << 8
            half = side // 2
            for child in range(8):
                first, second = bits >> (2 * child) & 1, bits >> (2 * child + 1) & 1
                if first == 1 and second == 1:
                    inner |= 1 << child
                elif first == 0 and second == 1:
                    if count < len(leaves):
                        leaves[count, 0] = x + half * (child & 1)
                        leaves[count, 1] = y + half * (child >> 1 & 1)
                        leaves[count, 2] = z + half * (child >> 2)
                        leaves[count, 3] = half
                    count += 1
        else:
            for byte in range(4):
                as_bytes[byte] = stream[at + byte]
            inner = int(stream[at + node_bytes])
            if np.isnan(number[0]):
                return _NOT_A_NUMBER
            # Log-odds of 0 are a probability of one half, the default threshold of OctoMap.
            if inner == 0 and number[0] >= 0.0:
                if count < len(leaves):
                    leaves[count, 0], leaves[count, 1], leaves[count, 2], leaves[count, 3] = x, y, z, side
                count += 1
        at += head
        if inner and (level == 0 or (node_bytes == 0 and level == 1)):
            return _TOO_DEEP
        for child in range(7, -1, -1):
            if inner >> child & 1:
                half = side // 2
                stack[height] = (
                    x + half * (child & 1), y + half * (child >> 1 & 1), z + half * (child >> 2), half, level - 1,
                )  # fmt: skip
                height += 1
    return count if at == len(stream) else _LEFT_OVER


@njit(cache=True, nogil=True)
def _write(code, side, stream):  # type: ignore[no-untyped-def]
    """Bytes of the binary stream of leaves sorted by Morton code, which go to `stream` if there is room."""
    stack = np.empty((_STACK, 3), np.int64)
    stack[0] = (0, len(code), DEPTH)
    height, size = 1, 0
    below = np.empty((8, 2), np.int64)
    while height > 0:
        height -= 1
        first, last, level = stack[height]
        bits = 0
        begin = first
        for child in range(8):
            end = begin
            while end < last and (code[end] >> 3 * (level - 1) & 7) == child:
                end += 1
            below[child] = (begin, end)
            if end > begin:
                leaf = side[begin] >= 1 << (level - 1)
                bits |= (2 if leaf else 3) << 2 * child
            begin = end
        if size + 2 <= len(stream):
            stream[size], stream[size + 1] = bits & 255, bits >> 8
        size += 2
        for child in range(7, -1, -1):
            if bits >> 2 * child & 3 == 3:
                stack[height] = (below[child, 0], below[child, 1], level - 1)
                height += 1
    return size
