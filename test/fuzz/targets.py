"""What is fuzzed: each target makes one case from a random generator and judges what the library does with it.

A case may end in an error of manipapy. Everything else is a finding: another exception, more than two seconds, more
than a gibibyte, or a description that is accepted though its kinematics or dynamics make no sense.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import random
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

from manipapy_core import Robot
from manipapy_core.cli.app import main as command_line
from manipapy_core.compiler import cache, mechanism_of
from manipapy_core.compiler.algorithms import dynamics, kinematics
from manipapy_core.errors import ManipapyError
from manipapy_core.model.library import bundled_robots
from manipapy_core.model.meshes import load_mesh
from manipapy_core.reachability import InverseMap, MapSpec, build_map, load_map, save_map
from reference import small_robots

from .mutations import NUMBERS, WORDS, mutated_bytes, mutated_text

CORPUS = Path(__file__).parent / "corpus"
ROUNDING = 1e-9
SMALL = tuple(case.text for case in vars(small_robots).values() if isinstance(case, small_robots.RobotCase))
MESHES = ("square.obj", "triangle.dae", "triangle.stl")


class AcceptedNonsense(Exception):
    """A description was accepted that makes no sense."""


@functools.cache
def _bundled(name: str) -> str:
    return Robot.from_urdf(name).urdf


def check_sense(robot: Robot, rng: random.Random) -> None:
    """Kinematics and dynamics of one chain, by the algorithms themselves, which need no compilation."""
    parents = {joint.parent for joint in robot.joints.values()}
    leaves = [name for name in robot.links if name not in parents and name != robot.root]
    if not leaves:
        return
    chain = robot.chain(robot.root, rng.choice(leaves))
    mechanism = mechanism_of(chain)
    lower, upper = np.clip(chain.limits.lower, -3.0, 3.0), np.clip(chain.limits.upper, -3.0, 3.0)
    q = [rng.uniform(low, high) for low, high in zip(lower, upper)]
    pose = np.array(kinematics.forward(mechanism, q), dtype=float).reshape(-1, 4)
    if not np.isfinite(pose).all():
        raise AcceptedNonsense(f"forward kinematics is not finite: {pose.tolist()}")
    R = pose[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > ROUNDING or np.linalg.det(R) < 0.0:
        raise AcceptedNonsense(f"the rotation of the tip is not orthonormal: {R.tolist()}")
    if chain.n == 0:
        return
    M = np.array(dynamics.mass_matrix(mechanism, q), dtype=float).reshape(chain.n, chain.n)
    if not np.isfinite(M).all():
        raise AcceptedNonsense("the mass matrix is not finite")
    eigenvalues = np.linalg.eigvalsh(M)
    if eigenvalues[0] < -ROUNDING * max(eigenvalues[-1], 1e-9):
        raise AcceptedNonsense(f"the mass matrix has a negative eigenvalue: {eigenvalues.tolist()}")


def urdf(rng: random.Random, folder: Path) -> None:
    """A mutated URDF as text: elements, numbers, or bytes."""
    text = rng.choice(SMALL) if rng.random() < 0.9 else _bundled(rng.choice(bundled_robots()))
    if rng.random() < 0.25:
        text = mutated_bytes(text.encode(), rng).decode("utf-8", "replace")
    else:
        text = mutated_text(text, rng)
    check_sense(Robot.from_urdf(text, strict=rng.random() < 0.2), rng)


def urdf_file(rng: random.Random, folder: Path) -> None:
    """A mutated URDF as a file of any bytes."""
    path = folder / "robot.urdf"
    path.write_bytes(mutated_bytes(rng.choice(SMALL).encode(), rng, most=20))
    check_sense(Robot.from_urdf(path), rng)


def xacro(rng: random.Random, folder: Path) -> None:
    """A mutated xacro file."""
    text, path = (CORPUS / "arm.xacro").read_text(encoding="utf-8"), folder / "arm.xacro"
    if rng.random() < 0.3:
        path.write_bytes(mutated_bytes(text.encode(), rng))
    else:
        path.write_text(mutated_text(text, rng), encoding="utf-8", errors="replace")
    check_sense(Robot.from_urdf(path, xacro_args={"length": rng.choice(NUMBERS)} if rng.random() < 0.3 else None), rng)


def mesh(rng: random.Random, folder: Path) -> None:
    """A mutated mesh, under any ending."""
    name = rng.choice(MESHES)
    content = (CORPUS / name).read_bytes() if rng.random() < 0.7 else _binary_stl(rng)
    ending = rng.choice((Path(name).suffix, Path(name).suffix, ".stl", ".STL", ".ply", ".glb", ".xyz", ""))
    path = folder / f"mesh{ending}"
    path.write_bytes(mutated_bytes(content, rng))
    found = load_mesh(str(path))
    if not np.isfinite(found.points).all() or found.triangles.max() >= len(found.points) or found.triangles.min() < 0:
        raise AcceptedNonsense("a mesh with points that do not exist")


def _binary_stl(rng: random.Random) -> bytes:
    count = rng.randint(0, 20)
    rows = b"".join(struct.pack("<12fH", *(rng.gauss(0.0, 1.0) for _ in range(12)), 0) for _ in range(count))
    return bytes(80) + struct.pack("<I", count) + rows


@functools.cache
def _map() -> tuple[object, bytes, bytes]:
    """A small arm, and the files of its maps."""
    robot = Robot.from_urdf("ur5")
    spec = MapSpec(robot, "base_link", "tool0", samples=2000, resolution=0.2, tilts=9, self_collision=False)
    reach = build_map(spec)
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "map.npz", Path(folder) / "inverse.npz"
        save_map(reach, first)
        InverseMap.build(reach).save(second)
        load_map(first, reach.chain).reachable(np.eye(4))  # compiles
        InverseMap.load(second, reach.chain).at(np.eye(4))
        return reach.chain, first.read_bytes(), second.read_bytes()


def reach_map(rng: random.Random, folder: Path) -> None:
    """A mutated map; one that is accepted must answer."""
    chain, forward, inverse = _map()
    path, which = folder / "map.npz", rng.random() < 0.7
    path.write_bytes(_mutated_archive(forward if which else inverse, rng))
    T = np.eye(4)
    T[:3, 3] = [rng.uniform(-1, 1) for _ in range(3)]
    if which:
        load_map(path, chain).reachable(T)
    else:
        InverseMap.load(path, chain).at(T)


def _mutated_archive(content: bytes, rng: random.Random) -> bytes:
    """Bytes of the archive, or of one of its arrays, which its checksum then hides."""
    if rng.random() < 0.4:
        return mutated_bytes(content, rng)
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    name = rng.choice(list(arrays))
    kind, values = rng.randrange(5), arrays[name]
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = values[: rng.randint(0, len(values))] if values.ndim else values
    elif kind == 2:
        arrays[name] = values.astype(rng.choice((np.float64, np.int64, np.uint8, np.complex128, "U4", bool)))
    elif kind == 3:
        raw = mutated_bytes(values.tobytes(), rng)
        raw = raw[: values.nbytes].ljust(values.nbytes, b"\0")
        arrays[name] = np.frombuffer(raw, dtype=values.dtype).reshape(values.shape)
    else:
        arrays[name] = rng.choice((values.reshape(-1), values[None], np.zeros(0), np.array(3.0)))
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def kernel_cache(rng: random.Random, folder: Path) -> None:
    """A mutated file of the kernel cache: the content comes back unchanged, or not at all."""
    with mock.patch.dict(os.environ, {cache.FOLDER_VARIABLE: str(folder / "cache")}):
        code = rng.randbytes(200)
        cache.write("kernel-0", code)
        path = cache.folder() / "kernel-0"
        path.write_bytes(mutated_bytes(path.read_bytes(), rng))
        if cache.read("kernel-0") not in (None, code):
            raise AcceptedNonsense("the cache gave back machine code that was changed")


COMMANDS = ("describe", "convert", "cache", "reach", "nonsense", "--help", "")
OPTIONS = ("--base", "--tip", "--limits", "--package-path", "--xacro-arg", "--strict", "--help", "--clear", "-x", "--")


def command(rng: random.Random, folder: Path) -> None:
    """Any arguments of the command line; its errors are sentences and exit codes."""
    robots = (*bundled_robots(), str(CORPUS / "arm.xacro"), str(folder), "/dev/null", "<robot/>", *WORDS)
    words = [rng.choice(COMMANDS)] + [
        rng.choice((rng.choice(robots), rng.choice(OPTIONS), rng.choice(NUMBERS), rng.choice(WORDS)))
        for _ in range(rng.randint(0, 4))
    ]
    if words[0] in ("reach", "--help"):
        words = [words[0], "--help"]
    if words[0] == "convert" and len(words) > 2:
        words[2] = str(folder / "out.urdf")
    words = [word.replace("\0", "") for word in words if word]
    environment = {cache.FOLDER_VARIABLE: str(folder / "cache")}
    before = os.getcwd()
    os.chdir(folder)
    try:
        with (
            mock.patch.object(sys, "argv", ["manipapy", *words]),
            mock.patch("manipapy_core.cli.app.add_commands"),  # those of ROS start nodes
            mock.patch.dict(os.environ, environment),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            command_line()
    except SystemExit:
        pass
    finally:
        os.chdir(before)


TARGETS: dict[str, Callable[[random.Random, Path], None]] = {
    "urdf": urdf,
    "urdf_file": urdf_file,
    "xacro": xacro,
    "mesh": mesh,
    "reach_map": reach_map,
    "kernel_cache": kernel_cache,
    "command": command,
}
PERMITTED = (ManipapyError,)
