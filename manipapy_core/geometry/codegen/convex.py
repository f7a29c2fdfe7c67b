"""Which lanes have two convex pieces apart, as LLVM IR: first a search for a separating direction by reflections.

Along a unit direction n, piece A ends at its support point a and piece B begins at its support point b; if
n·(b − a) > 0 a plane across n lies between them. If not, n is reflected at the plane across b − a, which brings it
nearer to every direction that separates: K. Chung and W. Wang, "Quick collision detection of polytopes in virtual
environments", VRST 1996. A few reflections are cheap and separate nearly all pieces; the others are settled by
`simplex`. Errors are false alarms and never missed contacts.
"""

from __future__ import annotations

from ...compiler.llvm.code import Code, Vector3
from ...compiler.llvm.types import Lanes
from .layout import CLUSTER, CLUSTER_NUMBERS, FRAME, Header, PieceKind, PieceNumber, PieceRow
from .simplex import settle, settle_function

REFLECTIONS = 4
"""They separate most pieces that are apart; the other lanes are settled by `simplex`."""
ROUNDING = 1e-13
"""Squared length of a part of a unit vector that is rounding."""
TINY = 1e-20
"""Keeps divisions by squared lengths finite [m²], and so small that directions stay unit vectors."""


def convex_functions(lanes: Lanes) -> str:
    settles = [settle_function(lanes, fine=fine) for fine in (False, True)]
    return "".join(
        [_place(lanes), _support(lanes), _support(lanes, fine=True), _core(lanes), *settles, _touching(lanes)]
    )


def frame_vectors(code: Code, frame: str) -> list[str]:
    """Rotation row by row and translation of a frame in every lane."""
    return code.vectors("%work", FRAME, code.times(frame, FRAME))


def turned(code: Code, frame: list[str], v: Vector3) -> list[str]:
    return [code.dot(frame[3 * row : 3 * row + 3], v) for row in range(3)]


def moved(code: Code, frame: list[str], p: Vector3) -> list[str]:
    """A point of the frame in the base."""
    return [
        code.multiply_add(
            frame[3 * row],
            p[0],
            code.multiply_add(frame[3 * row + 1], p[1], code.multiply_add(frame[3 * row + 2], p[2], frame[9 + row])),
        )
        for row in range(3)
    ]


def piece_rows(code: Code, piece: str) -> tuple[str, str]:
    """Addresses of a piece's integers and numbers."""
    integers, numbers = code.pointer("%scene", Header.PIECE_INTEGERS), code.pointer("%scene", Header.PIECE_NUMBERS)
    return (
        code.address("i64", integers, code.times(piece, PieceRow.WIDTH)),
        code.address(code.lanes.scalar, numbers, code.times(piece, PieceNumber.WIDTH)),
    )


def call_support(code: Code, placed: str, piece: str, direction: Vector3, lanes: str, *, fine: bool) -> list[str]:
    """The farthest point of a placed piece in the given lanes; in others any of its points."""
    more = f", {code.mask} {lanes}"
    return _call_point(code, "support_fine" if fine else "support", placed, piece, direction, more)


def _call_point(code: Code, function: str, placed: str, piece: str, operand: Vector3, more: str = "") -> list[str]:
    V = code.V
    arguments = ", ".join([f"ptr %scene, ptr {placed}, i64 {piece}", *(f"{V} {x}" for x in operand)]) + more
    point = code.let(f"call {{{V}, {V}, {V}}} @{function}({arguments})")
    return [code.let(f"extractvalue {{{V}, {V}, {V}}} {point}, {axis}") for axis in range(3)]


def _place(lanes: Lanes) -> str:
    """Centre and axes of a piece in the base frame, 12 vectors."""
    code = Code(lanes)
    integers, numbers = piece_rows(code, "%piece")
    frame = frame_vectors(code, code.whole(integers, PieceRow.FRAME))
    code.keep("%placed", moved(code, frame, code.spread3(numbers, PieceNumber.CENTRE)))
    code.keep("%placed", turned(code, frame, code.spread3(numbers, PieceNumber.Z_AXIS)), 9)
    uneven = code.let(f"icmp ne i64 {code.whole(integers, PieceRow.KIND)}, {PieceKind.ROUND.value}")
    with code.when(uneven):
        code.keep("%placed", turned(code, frame, code.spread3(numbers, PieceNumber.X_AXIS)), 3)
        code.keep("%placed", turned(code, frame, code.spread3(numbers, PieceNumber.Y_AXIS)), 6)
    code.leave("void")
    return code.function("void @place(ptr %scene, ptr %work, i64 %piece, ptr %placed)")


def _support(lanes: Lanes, *, fine: bool = False) -> str:
    """The point of a placed piece, without the ball around it, that lies farthest along a unit direction.

    Args:
        fine: Of a hull's fine level.
    """
    code, V = Code(lanes), lanes.vector
    n = ["%nx", "%ny", "%nz"]
    integers, numbers = piece_rows(code, "%piece")
    kind = code.whole(integers, PieceRow.KIND)
    with code.when(code.equal(kind, PieceKind.ROUND)):
        code.leave(_packed(code, _round_support(code, numbers, n)))
    with code.when(code.equal(kind, PieceKind.BOX)):
        point = code.vectors("%placed", 3)
        for axis in range(3):
            direction = code.vectors("%placed", 3, 3 + 3 * axis)
            half = code.with_sign_of(code.spread(numbers, PieceNumber.HALF + axis), code.dot(direction, n))
            point = code.along(half, direction, point)
        code.leave(_packed(code, point))
    code.leave(_packed(code, _hull_support(code, integers, n, fine)))
    name, inline = ("support_fine", "") if fine else ("support", " alwaysinline")
    arguments = f"ptr %scene, ptr %placed, i64 %piece, {V} %nx, {V} %ny, {V} %nz, {code.mask} %lanes"
    return code.function(f"{{{V}, {V}, {V}}} @{name}({arguments}){inline}")


def _round_support(code: Code, numbers: str, n: Vector3) -> list[str]:
    centre, axis = code.vectors("%placed", 3), code.vectors("%placed", 3, 9)
    lengthwise = code.dot(axis, n)
    across = code.along(code.negate(lengthwise), axis, n)
    length = code.square_root(code.add(code.dot(across, across), code.constant(ROUNDING)))
    half = code.with_sign_of(code.spread(numbers, PieceNumber.HALF + 2), lengthwise)
    disc = code.divide(code.spread(numbers, PieceNumber.DISC), length)
    # Where n is the axis, what is left is rounding, much of it along the axis: it would move the point by up to the
    # radius of the disc, and is taken from the step along the axis.
    half = code.multiply_add(code.negate(disc), code.dot(axis, across), half)
    return code.along(disc, across, code.along(half, axis, centre))


def _hull_support(code: Code, integers: str, n: Vector3, fine: bool) -> list[str]:
    """Compares vertices in the hull's own axes; of the fine level only clusters that may hold the farthest one."""
    axes = [code.vectors("%placed", 3, 3 + 3 * axis) for axis in range(3)]
    direction = [code.dot(axis, n) for axis in axes]
    vertices = code.pointer("%scene", Header.VERTICES)
    farthest = code.variable(code.V, code.constant(-1e30))
    best = [code.variable(code.V, code.constant(0.0)) for _ in range(3)]

    def compare(first: str, last: str) -> None:
        with code.loop(first, last) as vertex:
            point = code.spread3(code.address(code.lanes.scalar, vertices, code.times(vertex, 3)))
            reach = code.dot(direction, point)
            farther = code.let(f"fcmp ogt {code.V} {reach}, {farthest.get()}")
            farthest.set(code.select(farther, reach, farthest.get()))
            for coordinate, value in zip(best, point):
                coordinate.set(code.select(farther, value, coordinate.get()))

    # The coarse vertices are some of the fine ones.
    compare(code.whole(integers, PieceRow.FIRST_VERTEX), code.whole(integers, PieceRow.LAST_VERTEX))
    if fine:
        clusters, start = code.pointer("%scene", Header.CLUSTERS), code.whole(integers, PieceRow.FIRST_FINE_VERTEX)
        first = code.whole(integers, PieceRow.FIRST_CLUSTER)
        with code.loop(first, code.whole(integers, PieceRow.LAST_CLUSTER)) as cluster:
            ball = code.address(code.lanes.scalar, clusters, code.times(cluster, CLUSTER_NUMBERS))
            reach = code.add(code.dot(direction, code.spread3(ball)), code.spread(ball, 3))
            farther = code.both("%lanes", code.bits(code.let(f"fcmp ogt {code.V} {reach}, {farthest.get()}")))
            with code.when(code.some(farther)):
                number = code.let(f"sub i64 {cluster}, {first}")
                vertex = code.plus(start, code.times(number, CLUSTER))
                compare(vertex, code.plus(vertex, CLUSTER))
    point = code.vectors("%placed", 3)
    for axis, coordinate in zip(axes, best):
        point = code.along(coordinate.get(), axis, point)
    return point


def _core(lanes: Lanes) -> str:
    """The point nearest to a given one of what a piece is thick around: a segment, or a box."""
    code, V = Code(lanes), lanes.vector
    integers, numbers = piece_rows(code, "%piece")
    kind = code.whole(integers, PieceRow.KIND)
    centre = code.vectors("%placed", 3)
    offset = code.minus(["%px", "%py", "%pz"], centre)

    def nearest_along(axis: int, start: list[str], size: int) -> list[str]:
        direction, half = code.vectors("%placed", 3, 3 + 3 * axis), code.spread(numbers, size)
        within = code.minimum(code.maximum(code.dot(direction, offset), code.negate(half)), half)
        return code.along(within, direction, start)

    with code.when(code.let(f"icmp ne i64 {kind}, {PieceKind.BOX.value}")):
        code.leave(_packed(code, nearest_along(2, centre, PieceNumber.CORE)))
    point = centre
    for axis in range(3):
        point = nearest_along(axis, point, PieceNumber.HALF + axis)
    code.leave(_packed(code, point))
    return code.function(f"{{{V}, {V}, {V}}} @core(ptr %scene, ptr %placed, i64 %piece, {V} %px, {V} %py, {V} %pz)")


def _packed(code: Code, point: Vector3) -> str:
    """Three vectors as one result, with its type."""
    kind, result = f"{{{code.V}, {code.V}, {code.V}}}", "poison"
    for axis, value in enumerate(point):
        result = code.let(f"insertvalue {kind} {result}, {code.V} {value}, {axis}")
    return f"{kind} {result}"


def placed_piece(code: Code, piece: str) -> str:
    """Address of one of the robot's pieces in place."""
    return code.address(code.V, "%work", code.plus(code.times(piece, FRAME), code.whole("%scene", Header.PIECES_AT)))


def call_touching(code: Code, first: str, second: str, placed_second: str, lanes: str, margin: str) -> str:
    """Lanes in which a piece of the robot and another piece, both in place, are not proved to be farther apart."""
    arguments = f"ptr %scene, i64 {first}, ptr {placed_piece(code, first)}, i64 {second}, ptr {placed_second}"
    return code.let(f"call {code.mask} @touching({arguments}, {code.mask} {lanes}, {code.V} {margin})")


def ball_sum(code: Code, *, fine: bool) -> str:
    """Radii of the balls around two pieces together, and the margin between them."""
    number = PieceNumber.FINE_BALL if fine else PieceNumber.BALL
    balls = code.add(*(code.spread(piece_rows(code, piece)[1], number) for piece in ("%first", "%second")))
    return code.add(balls, "%margin")


def _between_cores(code: Code) -> list[str]:
    """From one core to the other by nearby points: for long pieces a far better guess than between their centres."""
    start = code.vectors("%placed.first", 3)
    point = _call_point(code, "core", "%placed.second", "%second", start)
    start = _call_point(code, "core", "%placed.first", "%first", point)
    point = _call_point(code, "core", "%placed.second", "%second", start)
    return code.minus(point, start)


def _direction(code: Code, direction: list[str]) -> list[str]:
    direction = [*direction[:2], code.add(direction[2], code.constant(1e-6))]  # some direction, where cores meet
    length = code.square_root(code.add(code.dot(direction, direction), code.constant(TINY)))
    return [code.divide(x, length) for x in direction]


def _touching(lanes: Lanes) -> str:
    """Those of the given lanes in which two placed pieces are not proved to be farther apart than the margin."""
    code, V = Code(lanes), lanes.vector
    numbers = [piece_rows(code, piece)[1] for piece in ("%first", "%second")]
    apart = code.minus(code.vectors("%placed.second", 3), code.vectors("%placed.first", 3))
    square, bounds = code.dot(apart, apart), code.add(*(code.spread(row, PieceNumber.BOUND) for row in numbers))
    reach = code.add(bounds, "%margin")
    near = code.where_negative(code.subtract(square, code.multiply(reach, reach)))
    left = code.variable(code.mask, code.both("%lanes", near))
    code.return_when(code.none(left.get()), f"{code.mask} 0")

    between = _between_cores(code)
    coarse_ball, fine_ball = ball_sum(code, fine=False), ball_sum(code, fine=True)
    filled = code.add(fine_ball, code.add(*(code.spread(row, PieceNumber.FILLED) for row in numbers)))
    square = code.subtract(code.dot(between, between), code.multiply(filled, filled))
    hit = code.variable(code.mask, code.both(left.get(), code.where_negative(square)))
    left.set(code.without(left.get(), hit.get()))
    code.return_when(code.none(left.get()), f"{code.mask} {hit.get()}")
    start = _direction(code, between)
    n = [code.variable(V, x) for x in start]

    def try_direction(direction: list[str]) -> tuple[list[str], str]:
        """Takes out the lanes that it separates. Gives the gap between the support points, and its length along it."""
        back, lanes = [code.negate(x) for x in direction], left.get()
        end = call_support(code, "%placed.first", "%first", direction, lanes, fine=False)
        begin = call_support(code, "%placed.second", "%second", back, lanes, fine=False)
        gap = code.along(code.negate(coarse_ball), direction, code.minus(begin, end))
        lengthwise = code.dot(gap, direction)
        # A comparison, not the sign: zero and NaN separate nothing.
        apart_here = code.let(f"fcmp ogt {V} {lengthwise}, {code.constant(0.0)}")
        left.set(code.without(left.get(), code.bits(apart_here)))
        return gap, lengthwise

    def reflect(gap: list[str], lengthwise: str) -> None:
        factor = code.divide(
            code.multiply(lengthwise, code.constant(-2.0)), code.add(code.dot(gap, gap), code.constant(TINY))
        )
        for x, value in zip(n, code.along(factor, gap, [x.get() for x in n])):
            x.set(value)

    with code.loop(0, REFLECTIONS):
        gap, lengthwise = try_direction([x.get() for x in n])
        code.return_when(code.none(left.get()), f"{code.mask} {hit.get()}")
        reflect(gap, lengthwise)
    touching, undecided = settle(code, left.get(), n, fine=False)
    hit.set(code.either(hit.get(), touching))
    left.set(undecided)
    code.return_when(code.none(undecided), f"{code.mask} {hit.get()}")
    with code.when(_has_fine_level(code)):
        touching, undecided = settle(code, left.get(), n, fine=True)
        code.leave(f"{code.mask} {code.either(hit.get(), code.either(touching, undecided))}")
    code.leave(f"{code.mask} {code.either(left.get(), hit.get())}")
    arguments = f"ptr %scene, i64 %first, ptr %placed.first, i64 %second, ptr %placed.second, {code.mask} %lanes"
    return code.function(f"{code.mask} @touching({arguments}, {V} %margin)")


def _has_fine_level(code: Code) -> str:
    flags = []
    for piece in ("%first", "%second"):
        integers, _ = piece_rows(code, piece)
        levels = [code.whole(integers, row) for row in (PieceRow.FIRST_VERTEX, PieceRow.FIRST_FINE_VERTEX)]
        flags.append(code.let(f"icmp ne i64 {levels[0]}, {levels[1]}"))
    return code.let(f"or i1 {flags[0]}, {flags[1]}")
