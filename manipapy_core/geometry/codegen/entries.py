"""Entry points of the collision checker as LLVM IR: batches, motions and the sampling of pairs.

All arguments are addresses and 64-bit numbers (one step is a double), so that ctypes and Numba call the same code.
Configurations are rows of doubles. The workspace is scratch memory of the calling thread.
"""

from __future__ import annotations

from ...compiler.llvm.code import Code
from ...compiler.llvm.types import Lanes
from ...model.chain import LARGEST_POSITION
from .convex import call_touching, placed_piece
from .layout import Header
from .rows import MARGIN_STEP, note_of

DOUBLES = "declare double @llvm.sqrt.f64(double)\ndeclare double @llvm.ceil.f64(double)\n"


def entry_functions(lanes: Lanes) -> str:
    popcount = f"declare i{lanes.count} @llvm.ctpop.i{lanes.count}(i{lanes.count})\n"
    return "".join(
        [
            DOUBLES,
            popcount,
            _load(lanes),
            _prepare(lanes),
            _check(lanes),
            _margins(lanes),
            _check(lanes, boxes=True),
            _edge(lanes),
            _edge(lanes, onwards=True),
            _edges(lanes),
            _sample(lanes),
        ]
    )


def call_frames(code: Code) -> None:
    """Runs the robot's own function: joint positions in, frames of its bodies out."""
    function = code.pointer("%scene", Header.FRAMES_FUNCTION)
    joints = code.address(code.V, "%work", code.whole("%scene", Header.JOINTS_AT))
    frames = code.address(code.V, "%work", 12)
    code.do(f"call void {function}(ptr {joints}, ptr {frames})")


def _load(lanes: Lanes) -> str:
    """Configurations %first … of %count into the lanes; the last one fills what is left. Gives the usable lanes."""
    code = Code(lanes)
    n = code.whole("%scene", Header.JOINTS)
    joints = code.address(code.V, "%work", code.whole("%scene", Header.JOINTS_AT))
    last, rows = code.plus("%count", -1), []
    for lane in range(code.L):
        index = code.plus("%first", lane)
        inside = code.let(f"icmp slt i64 {index}, {last}")
        row = code.let(f"select i1 {inside}, i64 {index}, i64 {last}")
        rows.append(code.address("double", "%q", code.times(row, n)))
    usable = code.variable(code.mask, "-1")
    with code.loop(0, n) as joint:
        values = "poison"
        for lane, row in enumerate(rows):
            exact = code.let(f"load double, ptr {code.address('double', row, joint)}")
            short = code.let(f"fptrunc double {exact} to {lanes.scalar}")
            values = code.let(f"insertelement {code.V} {values}, {lanes.scalar} {short}, i32 {lane}")
        code.keep(joints, [values], joint)
        size = code.absolute(values)
        small = code.let(f"fcmp ole {code.V} {size}, {code.constant(LARGEST_POSITION)}")  # false for NaN
        usable.set(code.both(usable.get(), code.bits(small)))
    code.leave(f"{code.mask} {usable.get()}")
    return code.function(f"{code.mask} @load(ptr %scene, ptr %q, i64 %first, i64 %count, ptr %work)")


def _prepare(lanes: Lanes) -> str:
    """The base frame, which never moves, and no margins."""
    code = Code(lanes)
    zero, one = code.constant(0.0), code.constant(1.0)
    code.keep("%work", [one, zero, zero, zero, one, zero, zero, zero, one, zero, zero, zero])
    code.keep("%work", [zero], code.whole("%scene", Header.MARGINS_AT))
    code.do(f"store i64 0, ptr {code.address('i64', note_of(code), MARGIN_STEP)}")
    code.leave("void")
    return code.function("void @prepare(ptr %scene, ptr %work)")


def _margins(lanes: Lanes) -> str:
    """How far points move within boxes of configurations, whose half widths are in place of the joint positions."""
    code = Code(lanes)
    n, balls = code.whole("%scene", Header.JOINTS), code.whole("%scene", Header.BALLS)
    levers = code.pointer("%scene", Header.LEVERS)
    joints = code.address(code.V, "%work", code.whole("%scene", Header.JOINTS_AT))
    margins = code.address(code.V, "%work", code.whole("%scene", Header.MARGINS_AT))
    halves = code.address(code.V, "%work", code.whole("%scene", Header.HALVES_AT))
    code.do(f"store i64 1, ptr {code.address('i64', note_of(code), MARGIN_STEP)}")
    with code.loop(0, n) as joint:
        code.keep(halves, [code.absolute(code.vector(joints, joint))], joint)
    more = code.plus(code.whole("%scene", Header.PAIRS), code.whole("%scene", Header.PAIR_BLOCKS))
    with code.loop(0, code.plus(balls, more)) as row:
        of_pair = code.let(f"icmp sge i64 {row}, {balls}")
        slack = code.let(f"load double, ptr {code.address('double', '%slack', code.let(f'zext i1 {of_pair} to i64'))}")
        short = code.let(f"fptrunc double {slack} to {lanes.scalar}")
        way = code.variable(code.V, code.negate(code.splat(short)))
        rates = code.address(lanes.scalar, levers, code.times(row, n))
        with code.loop(0, n) as joint:
            way.set(code.multiply_add(code.vector(halves, joint), code.spread(rates, joint), way.get()))
        code.keep(margins, [code.at_least_zero(way.get())], row)
    code.leave("void")
    return code.function("void @margins(ptr %scene, ptr %slack, ptr %work)")


def _check(lanes: Lanes, *, boxes: bool = False) -> str:
    """i64 check(scene, q, count, work, out): one byte per configuration, 1 for a collision.

    i64 check_boxes(scene, q, half, slack, count, work, out): 0 only where the box of all configurations within `half`
    of q is free. `slack` is how far points may move [m] before that is added to the robot: towards the world, and two
    links towards each other.

    Returns 1 if a configuration was not usable; such a one is reported as colliding.
    """
    code = Code(lanes)
    code.do("call void @prepare(ptr %scene, ptr %work)")
    bad = code.variable(code.mask, "0")
    blocks = code.let(f"sdiv i64 {code.plus('%count', code.L - 1)}, {code.L}")
    with code.loop(0, blocks) as block:
        first = code.times(block, code.L)
        usable = "-1"
        if boxes:
            usable = code.let(f"call {code.mask} @load(ptr %scene, ptr %half, i64 {first}, i64 %count, ptr %work)")
            code.do("call void @margins(ptr %scene, ptr %slack, ptr %work)")
        loaded = code.let(f"call {code.mask} @load(ptr %scene, ptr %q, i64 {first}, i64 %count, ptr %work)")
        usable = code.both(loaded, usable)
        refused = code.without("-1", usable)
        bad.set(code.either(bad.get(), refused))
        call_frames(code)
        hit = code.either(code.let(f"call {code.mask} @collides(ptr %scene, ptr %work, i1 false)"), refused)
        flags = code.let(f"bitcast {code.mask} {hit} to {lanes.mask}")
        left = code.let(f"sub i64 %count, {first}")
        whole_block = code.let(f"icmp sge i64 {left}, {code.L}")
        target = code.address("i8", "%out", first)
        numbers = code.let(f"zext {lanes.mask} {flags} to {lanes.of('i8')}")
        with code.when(whole_block):
            code.do(f"store {lanes.of('i8')} {numbers}, ptr {target}, align 1")
        rest = code.let(f"select i1 {whole_block}, i64 0, i64 {left}")
        with code.loop(0, rest) as lane:
            number = code.let(f"extractelement {lanes.of('i8')} {numbers}, i64 {lane}")
            code.do(f"store i8 {number}, ptr {code.address('i8', target, lane)}")
    code.leave(f"i64 {code.let(f'zext i1 {code.some(bad.get())} to i64')}")
    name, more = ("check_boxes", "ptr %half, ptr %slack, ") if boxes else ("check", "")
    return code.function(f"i64 @{name}(ptr %scene, ptr %q, {more}i64 %count, ptr %work, ptr %out)", internal=False)


def _edge(lanes: Lanes, *, onwards: bool = False) -> str:
    """i64 edge(scene, a, b, strides, work): 1 if the straight motion from a to b collides or is not usable.

    It is sampled at strides · lanes points, both ends included; `edge_onwards` leaves out a, which is known to be free,
    so that the points are as dense as for one more of them. The lanes are spread over the motion and advance
    together, so that an obstacle anywhere is found early (W. Thomason, Z. Kingston, L. Kavraki, "Motions in
    Microseconds via Vectorized Sampling-Based Planning", ICRA 2024).
    """
    code, L = Code(lanes), lanes.count
    code.do("call void @prepare(ptr %scene, ptr %work)")
    n = code.whole("%scene", Header.JOINTS)
    joints = code.address(code.V, "%work", code.whole("%scene", Header.JOINTS_AT))
    lane_numbers = "<" + ", ".join(f"{lanes.scalar} {float(lane):e}" for lane in range(L)) + ">"
    strides = code.splat(code.let(f"sitofp i64 %strides to {lanes.scalar}"))
    # Numbers from 0 to the last, or from 1.
    last = code.multiply(strides, code.constant(L))
    start = code.multiply(lane_numbers, strides)
    if onwards:
        start = code.add(start, code.constant(1.0))
    else:
        last = code.subtract(last, code.constant(1.0))
    with code.loop(0, "%strides") as stride:
        number = code.add(start, code.splat(code.let(f"sitofp i64 {stride} to {lanes.scalar}")))
        share = code.divide(number, last)
        usable = code.variable(code.mask, "-1")
        with code.loop(0, n) as joint:
            ends = [code.let(f"load double, ptr {code.address('double', end, joint)}") for end in ("%a", "%b")]
            difference = code.let(f"fsub double {ends[1]}, {ends[0]}")
            begin, length = (
                code.splat(code.let(f"fptrunc double {x} to {lanes.scalar}")) for x in (ends[0], difference)
            )
            value = code.multiply_add(length, share, begin)
            small = code.let(f"fcmp ole {code.V} {code.absolute(value)}, {code.constant(LARGEST_POSITION)}")
            usable.set(code.both(usable.get(), code.bits(small)))
            code.keep(joints, [value], joint)
        code.return_when(code.some(code.without("-1", usable.get())), "i64 1")
        call_frames(code)
        hit = code.let(f"call {code.mask} @collides(ptr %scene, ptr %work, i1 true)")
        code.return_when(code.some(hit), "i64 1")
    code.leave("i64 0")
    name = "edge_onwards" if onwards else "edge"
    return code.function(f"i64 @{name}(ptr %scene, ptr %a, ptr %b, i64 %strides, ptr %work)", internal=False)


def _edges(lanes: Lanes) -> str:
    """void edges(scene, a, b, count, step, work, out): `edge` for rows of a and b, samples at most a step apart."""
    code, L = Code(lanes), lanes.count
    n = code.whole("%scene", Header.JOINTS)
    with code.loop(0, "%count") as index:
        rows = [code.address("double", end, code.times(index, n)) for end in ("%a", "%b")]
        square = code.variable("double", "0.0")
        with code.loop(0, n) as joint:
            ends = [code.let(f"load double, ptr {code.address('double', row, joint)}") for row in rows]
            difference = code.let(f"fsub double {ends[1]}, {ends[0]}")
            square.set(code.let(f"fadd double {square.get()}, {code.let(f'fmul double {difference}, {difference}')}"))
        length = code.let(f"call double @llvm.sqrt.f64(double {square.get()})")
        steps = code.let(f"call double @llvm.ceil.f64(double {code.let(f'fdiv double {length}, %step')})")
        samples = code.plus(code.let(f"call i64 @llvm.fptosi.sat.i64.f64(double {steps})"), L)
        strides = code.let(f"sdiv i64 {samples}, {L}")
        arguments = f"ptr %scene, ptr {rows[0]}, ptr {rows[1]}, i64 {strides}, ptr %work"
        hit = code.let(f"call i64 @edge({arguments})")
        code.do(f"store i8 {code.let(f'trunc i64 {hit} to i8')}, ptr {code.address('i8', '%out', index)}")
    code.leave("void")
    text = "declare i64 @llvm.fptosi.sat.i64.f64(double)\n"
    head = "void @edges(ptr %scene, ptr %a, ptr %b, i64 %count, double %step, ptr %work, ptr %out)"
    return text + code.function(head, internal=False)


def _sample(lanes: Lanes) -> str:
    """void sample(scene, q, count, work, out): adds to out, per pair of pieces, how often the two touched."""
    code = Code(lanes)
    code.do("call void @prepare(ptr %scene, ptr %work)")
    blocks = code.let(f"sdiv i64 {code.plus('%count', code.L - 1)}, {code.L}")
    table = code.pointer("%scene", Header.PIECE_PAIR_INTEGERS)
    with code.loop(0, blocks) as block:
        first = code.times(block, code.L)
        left = code.let(f"sub i64 %count, {first}")
        lowest = code.let(f"shl {code.mask} 1, {code.let(f'trunc i64 {left} to {code.mask}')}")
        whole_block = code.let(f"icmp sge i64 {left}, {code.L}")
        valid = code.let(
            f"select i1 {whole_block}, {code.mask} -1, {code.mask} {code.let(f'sub {code.mask} {lowest}, 1')}"
        )
        code.let(f"call {code.mask} @load(ptr %scene, ptr %q, i64 {first}, i64 %count, ptr %work)")
        call_frames(code)
        code.do("call void @centres(ptr %scene, ptr %work)")
        with code.loop(0, code.whole("%scene", Header.GROUPS)) as group:
            code.do(f"call void @pieces(ptr %scene, ptr %work, i64 {group})")
        with code.loop(0, code.whole("%scene", Header.PIECE_PAIRS)) as index:
            row = code.address("i64", table, code.times(index, 2))
            second = code.whole(row, 1)
            touching = call_touching(
                code, code.whole(row, 0), second, placed_piece(code, second), "-1", code.constant(0.0)
            )
            touching = code.both(touching, valid)
            count = code.let(f"call {code.mask} @llvm.ctpop.{code.mask}({code.mask} {touching})")
            target = code.address("i64", "%out", index)
            old = code.let(f"load i64, ptr {target}")
            code.do(f"store i64 {code.plus(old, code.let(f'zext {code.mask} {count} to i64'))}, ptr {target}")
    code.leave("void")
    return code.function("void @sample(ptr %scene, ptr %q, i64 %count, ptr %work, ptr %out)", internal=False)
