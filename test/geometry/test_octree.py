"""Streams of octrees against trees worked out by hand, a plain recursive reader, and damaged streams."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manipapy_core.errors import InputError
from manipapy_core.geometry import octree
from manipapy_core.geometry.octree import DEPTH, binary_stream, occupied_leaves

OCCUPIED, FREE, INNER = 0b10, 0b01, 0b11
"""Two bits of a child; the first one written is the lower one."""


def node(**children: int) -> bytes:
    """A binary inner node: node(c0=OCCUPIED, c7=INNER)."""
    bits = sum(value << 2 * int(name[1:]) for name, value in children.items())
    return struct.pack("<H", bits)


def full(value: float, children: int = 0, colour: bytes = b"") -> bytes:
    return struct.pack("<f", value) + colour + bytes([children])


def listed(centres, sizes) -> set[tuple[float, ...]]:
    return {(*np.round(centre, 9), round(size, 9)) for centre, size in zip(centres.tolist(), sizes.tolist())}


def test_children_lie_where_their_bits_say():
    """Resolution 1 m: the root reaches from -32768 to 32768 m, so its children are centred 16384 m from the origin."""
    stream = node(c1=OCCUPIED, c2=FREE, c4=OCCUPIED)
    centres, sizes = occupied_leaves(stream, 1.0)
    half = 2.0 ** (DEPTH - 2)
    assert listed(centres, sizes) == {(half, -half, -half, 2.0**15), (-half, -half, half, 2.0**15)}


def test_the_smallest_cells_at_the_origin():
    """Down to the finest level beside the origin: child 7 of the root, then child 0 of every node."""
    stream = node(c7=INNER) + (DEPTH - 2) * node(c0=INNER) + node(c0=OCCUPIED, c3=OCCUPIED, c7=FREE)
    centres, sizes = occupied_leaves(stream, 0.05)
    assert listed(centres, sizes) == {(0.025, 0.025, 0.025, 0.05), (0.075, 0.075, 0.025, 0.05)}


def test_a_branch_is_read_before_the_next_one():
    down = (DEPTH - 3) * node(c0=INNER)
    stream = node(c7=INNER) + node(c0=INNER, c1=INNER) + down + node(c5=OCCUPIED) + down + node(c6=OCCUPIED)
    centres, sizes = occupied_leaves(stream, 0.1)
    far = 0.1 * 2 ** (DEPTH - 2)
    expected = {(0.15, 0.05, 0.15, 0.1), (far + 0.05, 0.15, 0.15, 0.1)}
    assert listed(centres, sizes) == {tuple(round(x, 9) for x in row) for row in expected}


@pytest.mark.parametrize(("kind", "colour"), [("OcTree", b""), ("ColorOcTree", b"\x10\x20\x30")])
def test_full_streams_count_log_odds_from_zero_on_as_occupied(kind, colour):
    stream = full(1.0, 0b10010011, colour)
    stream += full(0.0, 0, colour) + full(-0.1, 0, colour)
    stream += full(2.0, 0b1, colour) + full(3.5, 0, colour)
    stream += full(-2.0, 0, colour)
    centres, sizes = occupied_leaves(stream, 1.0, binary=False, kind=kind)
    q = 2.0 ** (DEPTH - 2)
    deeper = (-q - q / 2, -q - q / 2, q - q / 2, q)
    assert listed(centres, sizes) == {(-q, -q, -q, 2 * q), deeper}


def recursive(stream: bytes, resolution: float) -> set[tuple[float, ...]]:
    """A second reader of binary streams: recursive, with coordinates as floats."""
    found, rest = set(), iter(stream)

    def read(centre, size):
        bits = next(rest) | next(rest) << 8
        below = []
        for child in range(8):
            sign = np.array([1 if child >> axis & 1 else -1 for axis in range(3)])
            middle = centre + sign * size / 4
            if bits >> 2 * child & 3 == INNER:
                below.append(middle)
            elif bits >> 2 * child & 3 == OCCUPIED:
                found.add((*np.round(middle, 9), round(size / 2, 9)))
        for middle in below:
            read(middle, size / 2)

    read(np.zeros(3), resolution * 2**DEPTH)
    return found


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(*[st.integers(-40, 39)] * 3, st.integers(0, 3)), min_size=1, max_size=60))
def test_written_leaves_are_read_back_by_both_readers(cells):
    resolution, leaves = 0.04, {}
    for *cell, level in cells:
        corner = tuple((index >> level) << level for index in cell)
        block = {tuple(np.add(corner, [i, j, k])) for i in range(2**level) for j in range(2**level)
                 for k in range(2**level)}  # fmt: skip
        if not any(block & other for other in leaves.values()):
            leaves[(*corner, 2**level)] = block
    rows = np.array(list(leaves), dtype=np.float64)
    sizes = rows[:, 3] * resolution
    centres = rows[:, :3] * resolution + 0.5 * sizes[:, None]
    stream, written = binary_stream(centres, sizes)
    assert written == sizes.min()
    assert listed(*occupied_leaves(stream, written)) == listed(centres, sizes) == recursive(stream, written)


def test_an_empty_stream_has_no_leaves():
    assert len(occupied_leaves(b"", 0.05)[0]) == 0
    assert len(occupied_leaves(node(), 0.05)[0]) == 0


@pytest.mark.parametrize(
    ("stream", "options", "reason"),
    [
        (node(c0=INNER), {}, "middle of a node"),
        (b"\x00", {}, "middle of a node"),
        (node(c0=OCCUPIED) + b"\x00\x00", {}, "after the last node"),
        (DEPTH * node(c0=INNER) + node(c0=OCCUPIED), {}, "deeper"),
        (100 * node(c0=INNER), {}, "deeper"),
        (100 * full(1.0, 1), {"binary": False}, "deeper"),
        (full(1.0, 1), {"binary": False}, "middle of a node"),
        (full(float("nan")), {"binary": False}, "not a number"),
        (node(c0=OCCUPIED), {"kind": "OcTreeStamped"}, "OcTreeStamped"),
        (node(c0=OCCUPIED), {"resolution": float("nan")}, "resolution"),
        (node(c0=OCCUPIED), {"resolution": -1.0}, "resolution"),
    ],
)
def test_damaged_streams_are_refused(stream, options, reason):
    with pytest.raises(InputError, match=reason):
        occupied_leaves(stream, **{"resolution": 0.05, **options})


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=300), st.booleans())
def test_arbitrary_bytes_are_read_or_refused(stream, binary):
    try:
        centres, sizes = occupied_leaves(stream, 0.05, binary=binary)
    except InputError:
        return
    assert np.isfinite(centres).all() and (sizes > 0.0).all()


def test_too_many_bytes_or_leaves_are_refused(monkeypatch):
    monkeypatch.setattr(octree, "MOST_LEAVES", 3)
    with pytest.raises(InputError, match="4 occupied leaves"):
        occupied_leaves(node(c0=OCCUPIED, c1=OCCUPIED, c2=OCCUPIED, c3=OCCUPIED), 0.05)
    monkeypatch.setattr(octree, "MOST_BYTES", 1)
    with pytest.raises(InputError, match="2 bytes"):
        occupied_leaves(node(), 0.05)


def test_leaves_off_the_grid_are_not_written():
    with pytest.raises(InputError, match="one octree"):
        binary_stream(np.array([[0.03, 0.0, 0.0]]), np.array([0.05]))
