"""The collision check of a block of configurations, one per lane, as LLVM IR.

Three levels, each for the lanes only that the one before left undecided: bounding balls of links, against the objects
and against each other; against objects the spheres that cover the links; the convex pieces of the links (`convex`). All
of it reads tables (`layout`), so that one piece of machine code serves every robot and every world.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler.llvm.code import Code
from ...compiler.llvm.types import Lanes
from .convex import call_support, call_touching, frame_vectors, moved, piece_rows, placed_piece
from .layout import (
    SPHERE_NUMBERS,
    GroupNumber,
    GroupRow,
    Header,
    ObjectKind,
    ObjectRow,
    PairBlockRow,
    PairRow,
    PieceNumber,
    UnitRow,
)
from .link_pairs import near_pair
from .objects import OBJECT_CODES, ObjectCode, PlaneCode
from .rows import (
    PAIR,
    Ball,
    SphereRow,
    ball_excess,
    centre_of_group,
    enough,
    group_rows,
    margin_of,
    near_ball,
    note_of,
    object_code,
    object_tables,
)

FAR = {ObjectKind.ALIGNED_BOX: Header.FAR_ALIGNED_BOXES, ObjectKind.BOX: Header.FAR_BOXES}
"""Kinds of objects for which it is known which groups never reach them."""


def checker_functions(lanes: Lanes) -> str:
    near = [_near_object(lanes, kind) for kind in OBJECT_CODES]
    return "".join([_centres(lanes), _spheres(lanes), _pieces(lanes), *near, near_pair(lanes), _collides(lanes)])


def _return_when_in_place(code: Code, kind: int) -> None:
    """Returns if the group has been placed in this block already; otherwise sets its flag."""
    note = code.address("i64", note_of(code), kind)
    known, bit = code.let(f"load i64, ptr {note}"), code.let("shl i64 1, %group")
    there = code.let(f"and i64 {known}, {bit}")
    code.return_when(code.let(f"icmp ne i64 {there}, 0"), "void")
    both = code.let(f"or i64 {known}, {bit}")
    code.do(f"store i64 {both}, ptr {note}")


def _centres(lanes: Lanes) -> str:
    """Begins a block: puts the bounding balls of all groups and units in place."""
    code = Code(lanes)
    code.do(f"store <2 x i64> zeroinitializer, ptr {note_of(code)}, align 4")
    with code.loop(0, code.whole("%scene", Header.BALLS)) as group:
        integers, numbers = group_rows(code, group)
        frame = frame_vectors(code, code.whole(integers, GroupRow.FRAME))
        at = code.plus(code.times(group, 3), code.whole("%scene", Header.CENTRES_AT))
        code.keep("%work", moved(code, frame, code.spread3(numbers)), at)
    code.leave("void")
    return code.function("void @centres(ptr %scene, ptr %work)")


def _spheres(lanes: Lanes) -> str:
    """Puts the fine spheres of a group in place."""
    code = Code(lanes)
    _return_when_in_place(code, 0)
    integers, _ = group_rows(code, "%group")
    frame = frame_vectors(code, code.whole(integers, GroupRow.FRAME))
    table, start = code.pointer("%scene", Header.SPHERES), code.whole("%scene", Header.SPHERES_AT)
    with code.loop(code.whole(integers, GroupRow.FIRST_SPHERE), code.whole(integers, GroupRow.LAST_SPHERE)) as sphere:
        row = code.address(lanes.scalar, table, code.times(sphere, SPHERE_NUMBERS))
        code.keep("%work", moved(code, frame, code.spread3(row)), code.plus(code.times(sphere, 3), start))
    code.leave("void")
    return code.function("void @spheres(ptr %scene, ptr %work, i64 %group)")


def _pieces(lanes: Lanes) -> str:
    """Puts the convex pieces of a group in place."""
    code = Code(lanes)
    _return_when_in_place(code, 1)
    integers, _ = group_rows(code, "%group")
    with code.loop(code.whole(integers, GroupRow.FIRST_PIECE), code.whole(integers, GroupRow.LAST_PIECE)) as piece:
        code.do(f"call void @place(ptr %scene, ptr %work, i64 {piece}, ptr {placed_piece(code, piece)})")
    code.leave("void")
    return code.function("void @pieces(ptr %scene, ptr %work, i64 %group)")


def _near_object(lanes: Lanes, kind: type[ObjectCode]) -> str:
    """Those of the given lanes in which a group touches an object; with %any, some of them."""
    code = Code(lanes)
    item = object_code(code, kind, object_tables(code, kind), "%index")
    allowed = code.let(f"lshr i64 {code.whole(item.integers, ObjectRow.ALLOWED)}, %group")
    code.return_when(code.let(f"trunc i64 {allowed} to i1"), f"{code.mask} 0")
    code.do("call void @spheres(ptr %scene, ptr %work, i64 %group)")
    integers, _ = group_rows(code, "%group")
    margin = margin_of(code, "%group")
    outer, inner = code.variable(code.V, code.constant(1e30)), code.variable(code.V, code.constant(1e30))
    with code.loop(code.whole(integers, GroupRow.FIRST_SPHERE), code.whole(integers, GroupRow.LAST_SPHERE)) as index:
        sphere = SphereRow(code, index)
        measure = item.measure(sphere.centre)
        outer.set(code.minimum(outer.get(), item.excess(measure, item.within_margin(sphere.radius, margin))))
        inner.set(code.minimum(inner.get(), item.certain(measure, sphere.inner)))
    possible = code.both(code.where_negative(outer.get()), "%lanes")
    if not kind.convex:
        code.leave(f"{code.mask} {possible}")
        return code.function(_near_head(code, kind))
    hit = code.variable(code.mask, code.both(code.where_negative(inner.get()), possible))
    code.return_when(enough(code, possible, hit.get()), f"{code.mask} {hit.get()}")
    code.do("call void @pieces(ptr %scene, ptr %work, i64 %group)")
    _, numbers = group_rows(code, "%group")
    # The robot's pieces are padded as they are towards each other.
    to_world = code.subtract(*(code.spread(numbers, x) for x in (GroupNumber.RADIUS, GroupNumber.OWN_RADIUS)))
    other, placed = code.whole(item.integers, ObjectRow.PIECE), ""
    if kind is not PlaneCode:
        placed = code.address(code.V, "%work", code.whole("%scene", Header.SCRATCH_AT))
        code.do(f"call void @place(ptr %scene, ptr %work, i64 {other}, ptr {placed})")
    with code.loop(code.whole(integers, GroupRow.FIRST_PIECE), code.whole(integers, GroupRow.LAST_PIECE)) as piece:
        code.return_when(enough(code, possible, hit.get()), f"{code.mask} {hit.get()}")
        bound = code.add(code.spread(piece_rows(code, piece)[1], PieceNumber.BOUND), to_world)
        ball = code.vectors(placed_piece(code, piece), 3), bound, margin
        near = code.both(near_ball(item, ball), code.without(possible, hit.get()))
        with code.when(code.some(near)):
            if kind is PlaneCode:
                touching = _reaches_plane(code, piece, item, near, margin)
            else:
                touching = call_touching(code, piece, other, placed, near, margin)
            hit.set(code.either(hit.get(), touching))
    code.leave(f"{code.mask} {hit.get()}")
    return code.function(_near_head(code, kind))


def _near_head(code: Code, kind: type[ObjectCode]) -> str:
    arguments = f"ptr %scene, ptr %work, i64 %group, i64 %index, {code.mask} %lanes, i1 %any"
    return f"{code.mask} @near_{kind.kind.value}({arguments}) noinline"


def _reaches_plane(code: Code, piece: str, plane: ObjectCode, lanes: str, margin: str) -> str:
    """A half space needs one direction only."""
    down = [code.negate(x) for x in code.spread3(plane.numbers)]
    lowest = plane.measure(call_support(code, placed_piece(code, piece), piece, down, lanes, fine=True))
    _, numbers = piece_rows(code, piece)
    ball = code.add(code.spread(numbers, PieceNumber.FINE_BALL), code.spread(plane.numbers, 4))
    return code.both(lanes, code.where_negative(plane.excess(lowest, code.add(ball, margin))))


def _collides(lanes: Lanes) -> str:
    """The colliding lanes of a block whose frames are in place.

    With %any the first hit ends the check, as a motion needs no more; otherwise a hit in every lane does.
    """
    code = Code(lanes)
    hit = code.variable(code.mask, "0")
    last = code.address("i64", note_of(code), 2)

    def record(found: str, kind: int, group: str, index: str) -> None:
        hit.set(code.either(hit.get(), found))
        enough = code.let(f"and i1 %any, {code.some(hit.get())}")
        with code.when(enough):
            for place, value in enumerate((kind, group, index)):
                code.do(f"store i64 {value}, ptr {code.address('i64', last, place)}")
            code.leave(f"{code.mask} {hit.get()}")
        everywhere = code.let(f"icmp eq {code.mask} {hit.get()}, -1")
        code.return_when(everywhere, f"{code.mask} {hit.get()}")

    code.do("call void @centres(ptr %scene, ptr %work)")
    kinds = [(kind, object_tables(code, kind)) for kind in OBJECT_CODES]
    first_moving, count = code.whole("%scene", Header.FIRST_MOVING), code.whole("%scene", Header.GROUPS)

    def try_object(kind: type[ObjectCode], tables: tuple[str, str, str], group: str, index: str, ball: Ball) -> None:
        item = object_code(code, kind, tables, index)
        near = code.without(near_ball(item, ball), hit.get())
        with code.when(code.some(near)):
            arguments = f"ptr %scene, ptr %work, i64 {group}, i64 {index}, {code.mask} {near}, i1 %any"
            record(code.let(f"call {code.mask} @near_{kind.kind.value}({arguments})"), kind.kind.value, group, index)

    def ball_of(group: str) -> Ball:
        _, numbers = group_rows(code, group)
        return centre_of_group(code, group), code.spread(numbers, GroupNumber.RADIUS), margin_of(code, group)

    rows, pairs = code.pointer("%scene", Header.PAIR_INTEGERS), code.whole("%scene", Header.PAIRS)
    of_pairs = code.whole("%scene", Header.BALLS)

    def near_balls(balls: Sequence[str], margin: str) -> str:
        bounds = code.add(*(code.spread(group_rows(code, ball)[1], GroupNumber.OWN_RADIUS) for ball in balls))
        reach = code.add(bounds, margin_of(code, margin))
        excess = ball_excess(code, centre_of_group(code, balls[0]), centre_of_group(code, balls[1]), reach)
        return code.without(code.where_negative(excess), hit.get())

    def try_pair(pair: str) -> None:
        row = code.address("i64", rows, code.times(pair, PairRow.WIDTH))
        groups = [code.whole(row, PairRow.FIRST), code.whole(row, PairRow.SECOND)]
        near = near_balls(groups, code.plus(of_pairs, pair))
        with code.when(code.some(near)):
            arguments = f"ptr %scene, ptr %work, i64 {pair}, {code.mask} {near}, i1 %any"
            record(code.let(f"call {code.mask} @near_pair({arguments})"), PAIR, "0", pair)

    with code.when("%any"):
        # What stopped the last motion is likely to stop this one too. The note may be of another scene, or nonsense.
        group, index = code.whole(last, 1), code.whole(last, 2)
        number, most = (code.let(f"sub i64 {x}, {first_moving}") for x in (group, count))
        moving = code.let(f"icmp ult i64 {number}, {most}")
        for kind, tables in kinds:
            same = code.let(f"and i1 {moving}, {code.equal(code.whole(last, 0), kind.kind.value)}")
            there = code.let(f"and i1 {same}, {code.let(f'icmp ult i64 {index}, {tables[0]}')}")
            with code.when(there):
                try_object(kind, tables, group, index, ball_of(group))
        same = code.equal(code.whole(last, 0), PAIR)
        with code.when(code.let(f"and i1 {same}, {code.let(f'icmp ult i64 {index}, {pairs}')}")):
            try_pair(index)
    unit_rows = code.pointer("%scene", Header.UNIT_INTEGERS)
    with code.loop(0, code.whole("%scene", Header.UNITS)) as unit:
        row = code.address("i64", unit_rows, code.times(unit, UnitRow.WIDTH))
        number, first, last_group = (
            code.whole(row, entry) for entry in (UnitRow.BALL, UnitRow.FIRST_GROUP, UnitRow.LAST_GROUP)
        )
        ball, far_bit = ball_of(number), code.let(f"shl i64 1, {number}")

        def try_unit(kind: type[ObjectCode], tables: tuple[str, str, str], index: str) -> None:
            item = object_code(code, kind, tables, index)
            near = code.without(near_ball(item, ball), hit.get())
            with code.when(code.some(near)), code.loop(first, last_group) as group:
                try_object(kind, tables, group, index, ball_of(group))

        for kind, tables in kinds:
            with code.loop(0, tables[0]) as index:
                if kind.kind not in FAR:
                    try_unit(kind, tables, index)
                    continue
                far = code.let(f"and i64 {code.whole(code.pointer('%scene', FAR[kind.kind]), index)}, {far_bit}")
                with code.when(code.equal(far, 0)):
                    try_unit(kind, tables, index)

    blocks, of_blocks = code.pointer("%scene", Header.PAIR_BLOCK_INTEGERS), code.plus(of_pairs, pairs)
    with code.loop(0, code.whole("%scene", Header.PAIR_BLOCKS)) as block:
        row = code.address("i64", blocks, code.times(block, PairBlockRow.WIDTH))
        balls = [code.whole(row, entry) for entry in (PairBlockRow.FIRST_BALL, PairBlockRow.SECOND_BALL)]
        ends = code.whole(row, PairBlockRow.FIRST_PAIR), code.whole(row, PairBlockRow.LAST_PAIR)
        with code.when(code.some(near_balls(balls, code.plus(of_blocks, block)))), code.loop(*ends) as pair:
            try_pair(pair)
    code.leave(f"{code.mask} {hit.get()}")
    return code.function(f"{code.mask} @collides(ptr %scene, ptr %work, i1 %any) noinline")
