"""Two links of a robot in a block of configurations, as LLVM IR: capsules, a map of distances, then convex pieces."""

from __future__ import annotations

import math

from ...compiler.llvm.code import Code
from ...compiler.llvm.types import Lanes
from .convex import call_touching, frame_vectors, moved, placed_piece, turned
from .layout import MAP_CELLS, GroupNumber, GroupRow, Header, PairRow
from .objects import gather
from .rows import centre_of_group, enough, group_rows, margin_of


def near_pair(lanes: Lanes) -> str:
    """Those of the given lanes in which the two groups of a pair touch; with %any, some of them."""
    code = Code(lanes)
    row = code.address("i64", code.pointer("%scene", Header.PAIR_INTEGERS), code.times("%pair", PairRow.WIDTH))
    margin = margin_of(code, code.plus("%pair", code.whole("%scene", Header.BALLS)))
    groups = [code.whole(row, group) for group in (PairRow.FIRST, PairRow.SECOND)]
    near = code.variable(code.mask, code.both("%lanes", _near_capsule(code, groups[0], groups[1], margin)))
    near.set(code.both(near.get(), _near_capsule(code, groups[1], groups[0], margin)))
    code.return_when(code.none(near.get()), f"{code.mask} 0")
    with code.when(code.let(f"icmp ne i64 {code.whole(row, PairRow.MAP)}, 0")):
        near.set(_nearer_by_map(code, row, near.get(), margin))
    code.return_when(code.none(near.get()), f"{code.mask} 0")
    for group in groups:
        code.do(f"call void @pieces(ptr %scene, ptr %work, i64 {group})")
    table, hit = code.pointer("%scene", Header.PIECE_PAIR_INTEGERS), code.variable(code.mask, "0")
    with code.loop(code.whole(row, PairRow.FIRST_PIECE_PAIR), code.whole(row, PairRow.LAST_PIECE_PAIR)) as index:
        code.return_when(enough(code, near.get(), hit.get()), f"{code.mask} {hit.get()}")
        open_lanes = code.without(near.get(), hit.get())
        pieces = code.address("i64", table, code.times(index, 2))
        second = code.whole(pieces, 1)
        touching = call_touching(code, code.whole(pieces, 0), second, placed_piece(code, second), open_lanes, margin)
        hit.set(code.either(hit.get(), touching))
    code.leave(f"{code.mask} {hit.get()}")
    return code.function(
        f"{code.mask} @near_pair(ptr %scene, ptr %work, i64 %pair, {code.mask} %lanes, i1 %any) noinline"
    )


def _near_capsule(code: Code, ball: str, capsule: str, margin: str) -> str:
    """Lanes in which the bounding ball of a group and the capsule of another one may be nearer than the margin."""
    numbers = [group_rows(code, group)[1] for group in (ball, capsule)]
    frame = frame_vectors(code, code.whole(group_rows(code, capsule)[0], GroupRow.FRAME))
    half = turned(code, frame, code.spread3(numbers[1], GroupNumber.HALF))
    middle = moved(code, frame, code.spread3(numbers[1], GroupNumber.MIDDLE))
    offset = code.minus(centre_of_group(code, ball), middle)
    share = code.multiply(code.dot(half, offset), code.spread(numbers[1], GroupNumber.INVERSE))
    share = code.minimum(code.maximum(share, code.constant(-1.0)), code.constant(1.0))
    across = code.along(code.negate(share), half, offset)
    radii = code.add(code.spread(numbers[0], GroupNumber.OWN_RADIUS), code.spread(numbers[1], GroupNumber.CAPSULE))
    reach = code.add(radii, margin)
    return code.where_negative(code.subtract(code.dot(across, across), code.multiply(reach, reach)))


def _nearer_by_map(code: Code, row: str, lanes: str, margin: str) -> str:
    """Those of the lanes in which the map of a pair does not prove that its groups are apart."""
    joints, halves = (
        code.address(code.V, "%work", code.whole("%scene", at)) for at in (Header.JOINTS_AT, Header.HALVES_AT)
    )
    numbers = [code.whole(row, joint) for joint in (PairRow.FIRST_JOINT, PairRow.SECOND_JOINT)]
    index, whole = "", code.lanes.of("i32")
    for number in numbers:
        turns = code.multiply(code.vector(joints, number), code.constant(0.5 / math.pi))
        floor = code.let(f"call {code.V} @llvm.floor.{code.lanes.suffix}({code.V} {turns})")
        share = code.multiply(code.subtract(turns, floor), code.constant(MAP_CELLS))
        cell = code.let(f"fptosi {code.V} {code.minimum(share, code.constant(MAP_CELLS - 0.5))} to {whole}")
        if index:
            scaled = code.let(f"mul {whole} {index}, {code.lanes.whole(MAP_CELLS)}")
            cell = code.let(f"add {whole} {scaled}, {cell}")
        index = cell
    index = code.let(f"shl {whole} {index}, {code.lanes.whole(1)}")
    table, apart = code.pointer(row, PairRow.MAP), code.spread(code.pointer("%scene", Header.APART), 0)
    least = code.subtract(gather(code, table, index), code.add(apart, margin))
    near = code.variable(code.mask, code.both(lanes, code.where_negative(least)))
    thick = code.bits(code.let(f"fcmp ogt {code.V} {margin}, {code.constant(0.0)}"))
    with code.when(code.some(code.both(near.get(), thick))):
        # A box no wider than two cells is inside the cell of its middle and the cells around it.
        wider = code.maximum(*(code.vector(halves, number) for number in numbers))
        narrow = code.bits(code.let(f"fcmp olt {code.V} {wider}, {code.constant(0.999 * 2.0 * math.pi / MAP_CELLS)}"))
        around = code.subtract(gather(code, code.address(code.lanes.scalar, table, 1), index), apart)
        certain = code.bits(code.let(f"fcmp ogt {code.V} {around}, {code.constant(0.0)}"))
        near.set(code.without(near.get(), code.both(narrow, certain)))
    return near.get()
