"""Which lanes have two convex pieces in contact, settled by the algorithm of Gilbert, Johnson and Keerthi, as LLVM IR.

For the few lanes that reflections leave undecided. Points of the second piece minus points of the first form a convex
solid, which holds the origin where the pieces overlap. A triangle in that solid approaches the origin: each round adds
the solid's point farthest towards it, and keeps the triangle or edge with that point that is nearest. A lane is
separated only by a direction whose support points prove it, as everywhere in the checker, so that rounding in single
precision gives false alarms and never missed contacts.
"""

from __future__ import annotations

from ...compiler.llvm.code import Code, Variable, Vector3
from ...compiler.llvm.types import Lanes

ROUNDS = 24
"""Pieces at 0.1 mm take about ten; lanes that are not settled then count as touching."""
SLIM = 1e-6
"""A triangle whose squared area is less, relative to the squares of two of its edges, is taken as its edges."""
TINY = 1e-20
"""Keeps divisions by squared lengths finite [m²]."""


def settle(code: Code, lanes: str, n: list[Variable], *, fine: bool) -> tuple[str, str]:
    """Those of the lanes in which two placed pieces touch, and those that this level does not decide.

    The vertices of a coarse level are some of the hull's: pieces touch where these do with the balls of the fine level,
    and are apart where these are apart with the balls of the coarse one.

    Args:
        n: Unit direction to start from; then the one that was reached.
    """
    V, mask = code.V, code.mask
    result = f"{{{mask}, {mask}, {V}, {V}, {V}}}"
    arguments = "ptr %scene, i64 %first, ptr %placed.first, i64 %second, ptr %placed.second"
    vectors = ", ".join(f"{V} {x.get()}" for x in n)
    found = code.let(f"call {result} @{_name(fine)}({arguments}, {mask} {lanes}, {vectors}, {V} %margin)")
    touching, undecided, *direction = (code.let(f"extractvalue {result} {found}, {i}") for i in range(5))
    _set(n, direction)
    return touching, undecided


def _name(fine: bool) -> str:
    return "settle_fine" if fine else "settle"


def settle_function(lanes: Lanes, *, fine: bool) -> str:
    from .convex import ball_sum, call_support

    code, V = Code(lanes), lanes.vector
    touching_ball, apart_ball = ball_sum(code, fine=True), ball_sum(code, fine=fine)
    touching_square, apart_square = (code.multiply(ball, ball) for ball in (touching_ball, apart_ball))
    n = [code.variable(V, x) for x in ("%nx", "%ny", "%nz")]
    left = code.variable(code.mask, "%lanes")
    touching, undecided = code.variable(code.mask, "0"), code.variable(code.mask, "0")
    corners = [[code.variable(V, code.constant(0.0)) for _ in range(3)] for _ in range(3)]
    square = code.variable(V, code.constant(1e30))
    result = f"{{{code.mask}, {code.mask}, {V}, {V}, {V}}}"

    def done() -> str:
        values = [(code.mask, touching.get()), (code.mask, undecided.get()), *((V, x.get()) for x in n)]
        packed = "poison"
        for place, (kind, value) in enumerate(values):
            packed = code.let(f"insertvalue {result} {packed}, {kind} {value}, {place}")
        return f"{result} {packed}"

    def take_out(found: str, to: Variable) -> None:
        to.set(code.either(to.get(), code.both(left.get(), found)))
        left.set(code.without(left.get(), found))

    def farthest() -> tuple[list[str], str]:
        """The point of the difference farthest against n, and its height; lanes that n separates are taken out."""
        direction = [x.get() for x in n]
        back, lanes = [code.negate(x) for x in direction], left.get()
        end = call_support(code, "%placed.first", "%first", direction, lanes, fine=fine)
        begin = call_support(code, "%placed.second", "%second", back, lanes, fine=fine)
        point = code.minus(begin, end)
        height = code.dot(point, direction)
        # A comparison, not the sign: NaN separates nothing.
        left.set(code.without(left.get(), code.bits(code.let(f"fcmp ogt {V} {height}, {apart_ball}"))))
        with code.when(code.none(left.get())):
            code.leave(done())
        return point, height

    def aim(nearest: Vector3) -> None:
        length = code.square_root(code.add(code.dot(nearest, nearest), code.constant(TINY)))
        scale = code.divide(code.constant(1.0), length)
        for x, value in zip(n, nearest):
            x.set(code.multiply(value, scale))

    point, _ = farthest()
    for corner in corners:
        _set(corner, point)
    square.set(code.dot(point, point))
    aim(point)
    with code.loop(0, ROUNDS):
        point, height = farthest()
        if not fine:
            neither = [f"fcmp ogt {V} {height}, {touching_ball}", f"fcmp ole {V} {square.get()}, {apart_square}"]
            take_out(code.both(*(code.bits(code.let(test)) for test in neither)), undecided)
        old = [[x.get() for x in corner] for corner in corners]
        best, kept = _nearest(code, point, old, [code.minus(corner, point) for corner in old])
        contact = code.bits(code.let(f"fcmp ole {V} {best.square.get()}, {touching_square}"))
        take_out(code.either(contact, best.inside), touching)
        with code.when(code.none(left.get())):
            code.leave(done())
        for corner, values in zip(corners, (point, *([x.get() for x in other] for other in kept))):
            _set(corner, values)
        square.set(best.square.get())
        aim([x.get() for x in best.direction])
    take_out("-1", undecided)
    code.leave(done())
    arguments = f"ptr %scene, i64 %first, ptr %placed.first, i64 %second, ptr %placed.second, {code.mask} %lanes"
    return code.function(f"{result} @{_name(fine)}({arguments}, {V} %nx, {V} %ny, {V} %nz, {V} %margin) noinline")


class _Best:
    """The nearest point to the origin so far, by its square."""

    def __init__(self, code: Code, start: Vector3):
        self.square = code.variable(code.V, code.dot(start, start))
        self.direction = [code.variable(code.V, x) for x in start]
        """Towards it, of any length."""
        self.inside = "0"


def _nearest(
    code: Code, w: Vector3, corners: list[list[str]], edges: list[list[str]]
) -> tuple[_Best, list[list[Variable]]]:
    """The point nearest to the origin on the edges and triangles at w, and the two other corners that carry it.

    No nearer point exists on what lacks w, which lies farther towards the origin than all else.
    """
    V = code.V
    best = _Best(code, w)
    kept = [[code.variable(V, x) for x in w] for _ in range(2)]
    lengths = [code.dot(edge, edge) for edge in edges]
    towards = [code.negate(code.dot(edge, w)) for edge in edges]

    def offer(point: Vector3, towards: Vector3, valid: str | None, others: tuple[int, int]) -> None:
        square = code.dot(point, point)
        better = code.let(f"fcmp olt {V} {square}, {best.square.get()}")
        if valid is not None:
            better = code.let(f"and {code.lanes.mask} {better}, {valid}")
        best.square.set(code.select(better, square, best.square.get()))
        pairs = [*zip(best.direction, towards)]
        for variables, other in zip(kept, others):
            pairs += zip(variables, corners[other])
        for variable, value in pairs:
            variable.set(code.select(better, value, variable.get()))

    for i in range(3):
        share = code.divide(towards[i], code.add(lengths[i], code.constant(TINY)))
        share = code.minimum(code.at_least_zero(share), code.constant(1.0))
        point = code.along(share, edges[i], w)
        offer(point, point, None, (i, i))
    heights = []
    turns = [_cross(code, edge, w) for edge in edges]
    for i, j in ((0, 1), (1, 2), (2, 0)):
        normal = _cross(code, edges[i], edges[j])
        area = code.dot(normal, normal)
        height = code.dot(normal, w)
        heights.append(height)
        # Shares of the two corners in the foot of the perpendicular, times the squared area.
        first, second = code.dot(normal, turns[j]), code.negate(code.dot(normal, turns[i]))
        rest = code.subtract(area, code.add(first, second))
        least = code.minimum(code.minimum(first, second), rest)
        wide = code.subtract(area, code.multiply(code.multiply(lengths[i], lengths[j]), code.constant(SLIM)))
        valid = code.let(f"fcmp ogt {V} {code.minimum(least, wide)}, {code.constant(0.0)}")
        # The point as a mixture of corners is never too near, and its direction, however rounded, the normal's.
        part = code.divide(code.constant(1.0), code.add(area, code.constant(1e-35)))
        point = code.along(code.multiply(first, part), edges[i], w)
        point = code.along(code.multiply(second, part), edges[j], point)
        scale = code.multiply(height, part)
        offer(point, [code.multiply(x, scale) for x in normal], valid, (i, j))
    volume = code.dot(_cross(code, edges[0], edges[1]), edges[2])
    # The origin lies on the inner side of all three triangles: heights and volume have opposite signs.
    inner = [code.negate(code.multiply(height, volume)) for height in heights]
    depth = code.minimum(code.minimum(inner[0], inner[1]), inner[2])
    box = code.multiply(code.multiply(lengths[0], lengths[1]), lengths[2])
    solid = code.subtract(code.multiply(volume, volume), code.multiply(box, code.constant(SLIM)))
    depth = code.minimum(depth, solid)
    best.inside = code.bits(code.let(f"fcmp ogt {V} {depth}, {code.constant(0.0)}"))
    return best, kept


def _cross(code: Code, a: Vector3, b: Vector3) -> list[str]:
    def minor(i: int, j: int) -> str:
        return code.multiply_add(a[i], b[j], code.negate(code.multiply(a[j], b[i])))

    return [minor(1, 2), minor(2, 0), minor(0, 1)]


def _set(variables: list[Variable], values: Vector3) -> None:
    for variable, value in zip(variables, values):
        variable.set(value)
