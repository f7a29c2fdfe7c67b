"""Builds a `RobotBody`: convex parts and covering spheres of the links, pairs to check; cached on disk."""

from __future__ import annotations

import io
import json
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..compile_notice import LOGGER
from ..compiler import cache
from ..errors import MissingPackage
from ..model.chain import Chain
from ..model.elements import Geometry, MeshGeometry
from ..model.robot import Robot
from ..typing import Array
from .body import ClearanceMap, GroupPair, RobotBody, link_frames, make_group, overshoot_of, parts_by_link
from .clearance_maps import clearance_map
from .close_links import falsely_touching
from .cover import cover
from .exact import ExactLinks
from .hulls import file_digest
from .pairs import Touch, choose_pairs
from .parts import LinkShapes, centred_part, convex_parts
from .shapes import Convex, ConvexMesh

LOG_EVERY = 2.0
"""A build that takes longer reports its progress about so often [s]."""


def build_body(robot: Robot, chain: Chain, overshoot: float, keep: bool) -> RobotBody:
    if not any(robot.links[name].collisions for name in chain.link_names):
        warnings.warn(
            f"robot {robot.name!r} has no collision shapes: nothing of it can collide; add <collision> elements",
            RuntimeWarning,
            stacklevel=3,
        )

    made: list[RobotBody] = []

    def build() -> bytes:
        progress = _Progress(robot.name)
        touch = _touch(robot, chain)
        shapes = link_shapes(robot, chain, progress)
        spheres = _covers(robot, chain, shapes, overshoot, progress)
        solids = parts_by_link(robot, chain, shapes)
        groups = tuple(make_group(link, frame, parts, spheres[link]) for link, (frame, parts) in solids.items())
        if touch is not None:
            progress.report("looking for links that pass each other closely")
            close = falsely_touching(chain, groups, touch)
            if close:
                # The spheres stay: they cover the meshes, whichever way these are cut.
                shapes = {**shapes, **_cut_finer(robot, close, progress)}
                solids = parts_by_link(robot, chain, shapes)
                groups = tuple(make_group(link, frame, parts, spheres[link]) for link, (frame, parts) in solids.items())
        progress.report("choosing the pairs of links to check")
        chosen, ignored = choose_pairs(chain, groups, touch)
        progress.report("measuring how far links stay apart")
        pairs = [replace(pair, clearances=clearance_map(chain, groups, pair)) for pair in chosen]
        made.append(RobotBody(chain, overshoot, groups, tuple(pairs), ignored))
        return _packed(shapes, spheres, pairs, ignored)

    if keep:
        inputs = [_inputs(robot, chain, overshoot)]
        content = cache.load_data("body", inputs, __name__, ("geometry/", "compiler/"), build, cache.BODY)
    else:
        content = build()
    if made:
        return made[0]
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        shapes = {name: _shapes_from(arrays, robot, name) for name in chain.link_names}
        solids = parts_by_link(robot, chain, shapes)
        groups = tuple(
            make_group(link, frame, parts, arrays[f"spheres/{link}"]) for link, (frame, parts) in solids.items()
        )
        pairs = tuple(
            GroupPair(
                first,
                second,
                tuple(map(tuple, arrays[f"pairs/{number}"].tolist())),
                bool(comes_near),
                ClearanceMap((joint_a, joint_b), arrays[f"map/{number}"]) if joint_a >= 0 else None,
            )
            for number, (first, second, comes_near, joint_a, joint_b) in enumerate(arrays["pairs"].tolist())
        )
        ignored = {frozenset(names): reason for *names, reason in json.loads(str(arrays["ignored"]))}
    return RobotBody(chain, overshoot, groups, pairs, ignored)


class _Progress:
    """Log lines while a body is built, if that takes longer than some seconds."""

    def __init__(self, robot: str):
        self._robot, self._last = robot, time.monotonic()

    def report(self, text: str) -> None:
        if time.monotonic() - self._last > LOG_EVERY:
            self._last = time.monotonic()
            # A warning, so that it is seen without any configuration of the log.
            LOGGER.warning("building the collision body of %r, which happens once: %s", self._robot, text)


def link_shapes(robot: Robot, chain: Chain, progress: _Progress) -> LinkShapes:
    """Convex solids of the collision shapes of all links; a mesh file that several links use is cut once."""
    cut: dict[tuple[str, bytes], list[Convex]] = {}
    shapes: dict[str, list[list[Convex]]] = {}
    for number, name in enumerate(chain.link_names):
        progress.report(f"reading {name!r}, {number + 1} of {len(chain.link_names)} links")
        shapes[name] = []
        for shape in robot.links[name].collisions:
            geometry = shape.geometry
            if isinstance(geometry, MeshGeometry):
                key = _mesh_key(geometry)
                if key not in cut:
                    cut[key] = convex_parts(geometry)
                shapes[name].append(cut[key])
            else:
                shapes[name].append(convex_parts(geometry))
    return shapes


def _cut_finer(robot: Robot, links: Iterable[str], progress: _Progress) -> LinkShapes:
    """Convex solids of these links, which follow their meshes more closely."""
    shapes = {}
    for name in sorted(links):
        progress.report(f"cutting {name!r}, which others pass closely")
        shapes[name] = [convex_parts(shape.geometry, fine=True) for shape in robot.links[name].collisions]
    return shapes


def _mesh_key(geometry: MeshGeometry) -> tuple[str, bytes]:
    return geometry.filename or geometry.uri, np.asarray(geometry.scale).tobytes()


def _shape_key(geometry: Geometry) -> tuple[object, ...]:
    """The same for the same shape."""
    if isinstance(geometry, MeshGeometry):
        return _mesh_key(geometry)
    return (type(geometry).__name__, *_numbers_of(geometry))


def _covers(robot: Robot, chain: Chain, shapes: LinkShapes, overshoot: float, progress: _Progress) -> dict[str, Array]:
    """Covering spheres of all links with parts, in the frames of their bodies; links of the same shape share them."""
    known: dict[tuple[object, ...], Array] = {}
    spheres = {}
    for number, (link, (R, p)) in enumerate(link_frames(chain).items()):
        placed = [*zip(robot.links[link].collisions, shapes[link])]
        if not any(solids for _, solids in placed):
            continue
        progress.report(f"covering {link!r}, {number + 1} of {len(chain.link_names)} links")
        key = tuple((_shape_key(shape.geometry), shape.T_link_shape.tobytes()) for shape, _ in placed)
        if key not in known:
            parts = tuple(centred_part(solid, shape.T_link_shape) for shape, solids in placed for solid in solids)
            known[key] = cover(parts, overshoot_of(parts, overshoot))
        local = known[key]
        spheres[link] = np.column_stack([local[:, :3] @ R.T + p, local[:, 3:]])
    return spheres


def _touch(robot: Robot, chain: Chain) -> Touch | None:
    """Contact of exact shapes; None without the package coal."""
    try:
        return ExactLinks(robot, chain).touch
    except MissingPackage:
        return None


def _packed(
    shapes: LinkShapes,
    spheres: dict[str, Array],
    pairs: Sequence[GroupPair],
    ignored: dict[frozenset[str], str],
) -> bytes:
    arrays: dict[str, Any] = {f"spheres/{link}": rows for link, rows in spheres.items()}
    for name, solids in shapes.items():
        for number, parts in enumerate(solids):
            meshes = [part for part in parts if isinstance(part, ConvexMesh)]
            arrays |= {f"hull/{name}/{number}/{i}": mesh.vertices for i, mesh in enumerate(meshes)}
    arrays |= {f"pairs/{number}": np.array(pair.part_pairs) for number, pair in enumerate(pairs)}
    rows = []
    for number, pair in enumerate(pairs):
        known = pair.clearances
        if known is not None:
            arrays[f"map/{number}"] = known.distances
        rows.append((pair.first, pair.second, pair.comes_near, *((-1, -1) if known is None else known.joints)))
    arrays["pairs"] = np.array(rows, dtype=np.int64).reshape(-1, 5)
    arrays["ignored"] = np.array(json.dumps([[*sorted(names), reason] for names, reason in ignored.items()]))
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def _shapes_from(arrays: Any, robot: Robot, name: str) -> list[list[Convex]]:
    found: list[list[Convex]] = []
    for number, shape in enumerate(robot.links[name].collisions):
        if isinstance(shape.geometry, MeshGeometry):
            keys = [key for key in arrays if key.startswith(f"hull/{name}/{number}/")]
            found.append([ConvexMesh(arrays[key]) for key in sorted(keys, key=lambda key: int(key.rsplit("/", 1)[1]))])
        else:
            found.append(convex_parts(shape.geometry))
    return found


def _inputs(robot: Robot, chain: Chain, overshoot: float) -> str:
    """Changes with the shapes, the chain and its limits."""
    meshes = {
        shape.geometry.filename: file_digest(shape.geometry.filename)
        for link in robot.links.values()
        for shape in link.collisions
        if isinstance(shape.geometry, MeshGeometry) and shape.geometry.filename
    }
    shapes = [
        (link.name, shape.T_link_shape.tobytes(), type(shape.geometry).__name__, _numbers_of(shape.geometry))
        for link in robot.links.values()
        for shape in link.collisions
    ]
    lower, upper = chain.limits.sampling_range
    bodies = [
        (body.parent, body.T_parent_body.tobytes(), body.axis.tobytes(), body.revolute, body.dof, body.ratio)
        for body in chain.bodies
    ]
    placements = [(body, T.tobytes()) for body, T in chain.link_placements]
    return repr((shapes, meshes, bodies, placements, lower.tobytes(), upper.tobytes(), overshoot))


def _numbers_of(geometry: Geometry) -> list[str]:
    values = (getattr(geometry, entry.name) for entry in fields(geometry))
    return [value if isinstance(value, str) else np.asarray(value, np.float64).tobytes().hex() for value in values]
