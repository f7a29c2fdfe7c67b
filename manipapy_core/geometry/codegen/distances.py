"""Distance of every moving link to the world, with nearest points, as LLVM IR.

Per link and lane the best sphere and object so far are kept. Whole links are passed over where their bounding ball
is farther away than that. The direction between the two nearest points is the slope of the object's signed distance,
taken for the winning objects alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...compiler.llvm.code import Code, Variable, Vector3
from ...compiler.llvm.types import Lanes
from .entries import call_frames
from .layout import GroupRow, Header, ObjectRow
from .objects import OBJECT_CODES, ObjectCode
from .rows import SphereRow, centre_of_group, group_rows, object_code, object_tables

NUMBERS = 7
"""Per link: distance, nearest point of the link, nearest point of the object."""
FAR = 1e30


def distance_functions(lanes: Lanes) -> str:
    return _nearest(lanes) + _distances(lanes)


class _Best:
    """The nearest sphere and object of a link so far."""

    def __init__(self, code: Code, distance: str):
        self.code = code
        self.distance = code.variable(code.V, distance)
        self.centre = [code.variable(code.V, code.constant(0.0)) for _ in range(3)]
        self.radius, self.object = (code.variable(code.V, code.constant(x)) for x in (0.0, -1.0))

    def offer(self, distance: str, centre: Vector3, radius: str, number: str) -> None:
        code = self.code
        nearer = code.let(f"fcmp olt {code.V} {distance}, {self.distance.get()}")
        new = [distance, *centre, radius, number]
        for variable, value in zip((self.distance, *self.centre, self.radius, self.object), new):
            variable.set(code.select(nearer, value, variable.get()))


def _nearest(lanes: Lanes) -> str:
    """Fills %out for one group: `NUMBERS` vectors and one with the number of the object, −1 for none."""
    code = Code(lanes)
    integers, numbers = group_rows(code, "%group")
    centre, reach, inner = centre_of_group(code, "%group"), code.spread(numbers, 4), code.spread(numbers, 5)
    bound = code.variable(code.V, code.constant(FAR))
    for _, item in _objects(code):
        bound.set(code.minimum(bound.get(), item.signed(centre)))
    # Some sphere is at least this near to the object that is nearest to the centre.
    best = _Best(code, code.add(code.add(bound.get(), inner), code.constant(1e-4)))
    for number, item in _objects(code):
        least = code.subtract(item.signed(centre), reach)
        near = code.bits(code.let(f"fcmp olt {code.V} {least}, {best.distance.get()}"))
        with (
            code.when(code.some(near)),
            code.loop(code.whole(integers, GroupRow.FIRST_SPHERE), code.whole(integers, GroupRow.LAST_SPHERE)) as index,
        ):
            sphere = SphereRow(code, index)
            distance = code.subtract(item.signed(sphere.centre), sphere.radius)
            best.offer(distance, sphere.centre, sphere.radius, number)
    normal = [code.variable(code.V, code.constant(0.0)) for _ in range(3)]
    centre = [x.get() for x in best.centre]
    for number, item in _objects(code):
        won = code.let(f"fcmp oeq {code.V} {number}, {best.object.get()}")
        with code.when(code.some(code.bits(won))):
            _set_where(code, won, normal, item.slope(centre))
    away, distance = [x.get() for x in normal], best.distance.get()
    found = code.let(f"fcmp oge {code.V} {best.object.get()}, {code.constant(0.0)}")
    on_link = code.along(code.negate(best.radius.get()), away, centre)
    on_object = code.along(code.negate(distance), away, on_link)
    result = [code.select(found, distance, code.constant(FAR)), *on_link, *on_object, best.object.get()]
    code.keep("%out", result)
    code.leave("void")
    return code.function("void @nearest(ptr %scene, ptr %work, i64 %group, ptr %out) noinline")


def _objects(code: Code) -> Iterator[tuple[str, ObjectCode]]:
    """Writes loops over all objects that the group must not touch, one loop per kind.

    Gives the number of the object, in every lane, and its code; what the caller writes becomes the body.
    """
    before = "0"
    for kind in OBJECT_CODES:
        tables = object_tables(code, kind)
        with code.loop(0, tables[0]) as index:
            item = object_code(code, kind, tables, index)
            allowed = code.let(f"lshr i64 {code.whole(item.integers, ObjectRow.ALLOWED)}, %group")
            forbidden = code.let(f"xor i1 {code.let(f'trunc i64 {allowed} to i1')}, true")
            with code.when(forbidden):
                number = code.let(f"sitofp i64 {code.plus(before, index)} to {code.lanes.scalar}")
                yield code.splat(number), item
        before = code.plus(before, tables[0])


def _set_where(code: Code, condition: str, variables: Sequence[Variable], values: Vector3) -> None:
    for variable, value in zip(variables, values):
        variable.set(code.select(condition, value, variable.get()))


def _distances(lanes: Lanes) -> str:
    """i64 distances(scene, q, count, work, numbers, objects).

    Per configuration and moving group `NUMBERS` floats, and the number of the nearest object as a 32-bit number.
    Returns 1 if a configuration was not usable.
    """
    code, L = Code(lanes), lanes.count
    code.do("call void @prepare(ptr %scene, ptr %work)")
    first_moving, groups = code.whole("%scene", Header.FIRST_MOVING), code.whole("%scene", Header.GROUPS)
    moving = code.let(f"sub i64 {groups}, {first_moving}")
    found = code.reserve(f"[{(NUMBERS + 1) * L} x {lanes.scalar}]")
    bad = code.variable(code.mask, "0")
    blocks = code.let(f"sdiv i64 {code.plus('%count', L - 1)}, {L}")
    with code.loop(0, blocks) as block:
        first = code.times(block, L)
        usable = code.let(f"call {code.mask} @load(ptr %scene, ptr %q, i64 {first}, i64 %count, ptr %work)")
        bad.set(code.either(bad.get(), code.without("-1", usable)))
        call_frames(code)
        code.do("call void @centres(ptr %scene, ptr %work)")
        left = code.let(f"sub i64 %count, {first}")
        whole_block = code.let(f"icmp sge i64 {left}, {L}")
        rows = code.let(f"select i1 {whole_block}, i64 {L}, i64 {left}")
        with code.loop(first_moving, groups) as group:
            code.do(f"call void @spheres(ptr %scene, ptr %work, i64 {group})")
            code.do(f"call void @nearest(ptr %scene, ptr %work, i64 {group}, ptr {found})")
            column = code.let(f"sub i64 {group}, {first_moving}")
            with code.loop(0, rows) as lane:
                row = code.plus(code.times(code.plus(first, lane), moving), column)
                target = code.address(lanes.scalar, "%numbers", code.times(row, NUMBERS))
                source = code.address(lanes.scalar, found, lane)
                for entry in range(NUMBERS):
                    number = code.number(source, entry * L)
                    code.do(f"store {lanes.scalar} {number}, ptr {code.address(lanes.scalar, target, entry)}")
                which = code.let(f"fptosi {lanes.scalar} {code.number(source, NUMBERS * L)} to i32")
                code.do(f"store i32 {which}, ptr {code.address('i32', '%objects', row)}")
    code.leave(f"i64 {code.let(f'zext i1 {code.some(bad.get())} to i64')}")
    head = "i64 @distances(ptr %scene, ptr %q, i64 %count, ptr %work, ptr %numbers, ptr %objects)"
    return code.function(head, internal=False)
