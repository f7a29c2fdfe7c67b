"""Denavit–Hartenberg tables, standard and modified, to robots and back.

A table is always base · A_1(q_1) … A_n(q_n) · tool. The two conventions differ in where a row's a and α stand:

    standard   A_i = Rz(θ_i) Tz(d_i) Tx(a_i) Rx(α_i)      behind the joint
    modified   A_i = Tx(a_i) Rx(α_i) Rz(θ_i) Tz(d_i)      before the joint

so the same numbers mean different arms. One turns into the other by moving the columns a and α down or up by one
row; what falls off the end goes into the tool (or the base). A text that measures a_i along x_{i-1} describes the
modified convention, whatever it calls it; a matrix with a_i cos θ_i in its last column is standard.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, ShapeError
from ..typing import Array
from .chain import Chain, JointLimits
from .elements import Inertial, JointType, frozen_array, transform_from_xyz_rpy

if TYPE_CHECKING:
    from .robot import Robot

PARALLEL = 1e-8
"""Axes whose directions differ by less than this [rad] are taken as parallel; see `from_chain`."""

_COLUMNS = {"a": "m", "alpha": "rad", "d": "m", "theta": "rad"}
_POSE_TOLERANCE = 1e-9


class Convention(enum.Enum):
    """Where the a and α of a row stand."""

    STANDARD = "standard"
    """Behind the joint (Denavit and Hartenberg, Paul, Spong; Universal Robots)."""
    MODIFIED = "modified"
    """Before the joint (Craig, Khalil; Franka)."""


@dataclass(frozen=True)
class DHRow:
    """One joint: its position q adds to theta if it is revolute, to d if it is prismatic."""

    a: float
    """Along x [m]."""
    alpha: float
    """About x [rad]."""
    d: float
    """Along z [m]."""
    theta: float
    """About z [rad]."""
    type: JointType = JointType.REVOLUTE


@dataclass(frozen=True, eq=False)
class DHTable:
    """base · A_1(q_1) … A_n(q_n) · tool.

    Rows may also be given as (a, alpha, d, theta) or (a, alpha, d, theta, type), convention and types by name.
    """

    rows: tuple[DHRow, ...]
    convention: Convention
    base: Array = field(default_factory=lambda: np.eye(4))
    """Pose of the frame that the first row starts from, shape (4, 4)."""
    tool: Array = field(default_factory=lambda: np.eye(4))
    """Pose of the tip in the frame of the last row, shape (4, 4)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "convention", _convention(self.convention))
        object.__setattr__(self, "rows", _rows(self.rows))
        for name in ("base", "tool"):
            object.__setattr__(self, name, _pose(getattr(self, name), name))

    def __reduce__(self) -> tuple[Any, ...]:
        # Plain pickling would hand out writable arrays.
        return DHTable, (self.rows, self.convention, self.base, self.tool)

    def __str__(self) -> str:
        title = f"{self.convention.value} DH"
        heads = (f"{name} [{unit}]" for name, unit in _COLUMNS.items())
        lines = [title + "".join(f"{head:>13}" for head in heads)]
        for index, row in enumerate(self.rows, start=1):
            moving = "theta" if row.type.rotates else "d"
            cells = (f"{getattr(row, name):.6g}{' + q' if name == moving else ''}" for name in _COLUMNS)
            lines.append(f"{index:>{len(title)}}" + "".join(f"{cell:>13}" for cell in cells))
        return "\n".join(lines)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.rows)

    def frames(self, q: ArrayLike) -> Array:
        """Poses of the frames of all rows, by the textbook matrices.

        Args:
            q: Joint positions [rad or m], shape (..., n).

        Returns:
            T_0_frame [m], shape (..., n, 4, 4).
        """
        q = np.asarray(q, dtype=np.float64)
        if q.ndim < 1 or q.shape[-1] != self.n:
            raise ShapeError("q", f"(..., {self.n})", q.shape)
        T = self.base
        poses = []
        for index, row in enumerate(self.rows):
            T = T @ _row_matrix(row, self.convention, q[..., index])
            poses.append(T)
        return np.stack(poses, axis=-3)

    def forward(self, q: ArrayLike) -> Array:
        """Pose of the tip, base · A_1 … A_n · tool, shape (..., 4, 4). A chain of `to_robot` does it faster."""
        return self.frames(q)[..., -1, :, :] @ self.tool

    def in_convention(self, convention: Convention | str) -> DHTable:
        """The same arm in the named convention: a and α move by one row, tool or base take what is left over."""
        wanted = _convention(convention)
        if wanted is self.convention:
            return self
        across = [(row.a, row.alpha) for row in self.rows]
        base, tool = self.base, self.tool
        if wanted is Convention.MODIFIED:
            tool = along_x(*across[-1]) @ tool
            across = [(0.0, 0.0), *across[:-1]]
        else:
            base = base @ along_x(*across[0])
            across = [*across[1:], (0.0, 0.0)]
        rows = tuple(replace(row, a=a, alpha=alpha) for row, (a, alpha) in zip(self.rows, across))
        return DHTable(rows, wanted, base, tool)

    def to_robot(
        self,
        name: str = "dh_robot",
        *,
        limits: JointLimits | Sequence[tuple[float, float]] | None = None,
        inertials: Sequence[Inertial | None] | None = None,
        joint_names: Sequence[str] | None = None,
    ) -> Robot:
        """A robot with the links base_link, link_1 … link_n, tool0, and its description in `Robot.urdf`.

        Link frames lie on the joint axes, as URDF wants it: they are the frames of the modified table.

        Args:
            limits: Lower and upper position per joint [rad or m], or the limits of a chain. A revolute joint
                without position limits becomes continuous.
            inertials: One per row, in the frame of that row; None for a massless one.
            joint_names: joint_1 … joint_n if not given.
        """
        from .dh_robot import build_robot

        return build_robot(self, name, limits, inertials, joint_names)


def from_chain(chain: Chain, convention: Convention | str, *, parallel: float = PARALLEL) -> DHTable:
    """A table with the same pose as the chain, base link to tip, at every q.

    x lies on the common normals of neighbouring axes, pointing no more than 90° away from the x before it. Where
    normals are many, that is for parallel axes, d is 0; a prismatic axis, which has no place of its own, is put
    through the frame before it. The z axes of base link and tip count as axes too, so base and tool are as simple as
    the arm allows.

    Args:
        parallel: Axes whose directions differ by less [rad] are taken as parallel, which errs by that angle. Axes
            that differ by little more have their common normal far away, which errs by about 1e-15 / angle. A
            description with rounded turns (1.5708) is served best by 1e-5.
    """
    serial = [(index - 1, index) for index in range(chain.n)]
    if [(body.parent, body.dof) for body in chain.bodies] != serial or chain.tip_body != chain.n - 1:
        raise InputError(
            f"chain {chain.base!r} → {chain.tip!r} branches or has mimic joints, which no DH table can describe; "
            "take the path to one link with Robot.chain(base, tip)"
        )
    return from_screws(chain.S, chain.M, convention, parallel=parallel)


def from_screws(S: ArrayLike, M: ArrayLike, convention: Convention | str, *, parallel: float = PARALLEL) -> DHTable:
    """A table with the pose exp(S_1 q_1) … exp(S_n q_n) M at every q; see `from_chain`.

    Args:
        S: Space screw axes at q = 0, angular first, shape (6, n).
        M: Pose of the tip at q = 0, shape (4, 4).
    """
    from .dh_from_screws import table_from_screws

    return table_from_screws(S, _pose(M, "M"), _convention(convention), parallel)


def along_x(a: float, alpha: float) -> Array:
    """Tx(a) Rx(α), shape (4, 4)."""
    return transform_from_xyz_rpy((a, 0.0, 0.0), (alpha, 0.0, 0.0))


def along_z(d: float, theta: float) -> Array:
    """Rz(θ) Tz(d), shape (4, 4)."""
    return transform_from_xyz_rpy((0.0, 0.0, d), (0.0, 0.0, theta))


def _row_matrix(row: DHRow, convention: Convention, q: Array) -> Array:
    """A_i written out, for q of any shape."""
    theta, d = (row.theta + q, row.d) if row.type.rotates else (row.theta, row.d + q)
    ct, st, ca, sa = np.cos(theta), np.sin(theta), math.cos(row.alpha), math.sin(row.alpha)
    entries: list[list[Any]]
    if convention is Convention.STANDARD:
        entries = [
            [ct, -st * ca, st * sa, row.a * ct],
            [st, ct * ca, -ct * sa, row.a * st],
            [0.0, sa, ca, d],
        ]
    else:
        entries = [
            [ct, -st, 0.0, row.a],
            [st * ca, ct * ca, -sa, -sa * d],
            [st * sa, ct * sa, ca, ca * d],
        ]
    A = np.zeros((*np.shape(q), 4, 4))
    A[..., 3, 3] = 1.0
    for i, line in enumerate(entries):
        for j, entry in enumerate(line):
            A[..., i, j] = entry
    return A


def _convention(wanted: Convention | str) -> Convention:
    try:
        return Convention(wanted)
    except ValueError:
        names = ", ".join(convention.value for convention in Convention)
        raise InputError(f"no DH convention {wanted!r}; there are: {names}") from None


def _rows(rows: Sequence[DHRow | Sequence[Any]]) -> tuple[DHRow, ...]:
    if isinstance(rows, str) or not isinstance(rows, (Sequence, np.ndarray)):
        raise InputError(f"rows is a {type(rows).__name__}; give a list of (a, alpha, d, theta) or DHRow")
    if len(rows) == 0:
        raise InputError("the DH table has no rows; give one (a, alpha, d, theta) per joint")
    return tuple(_row(row, index) for index, row in enumerate(rows, start=1))


def _row(row: DHRow | Sequence[Any], index: int) -> DHRow:
    if isinstance(row, DHRow):
        row = (row.a, row.alpha, row.d, row.theta, row.type)
    if isinstance(row, str) or not isinstance(row, (Sequence, np.ndarray)) or len(row) not in (4, 5):
        raise InputError(f"row {index} is {row!r}; expected a, alpha, d, theta and, if not revolute, the joint type")
    numbers = []
    for (name, unit), value in zip(_COLUMNS.items(), row):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise InputError(f"row {index}: {name} is {value!r}; write a finite number in {unit}")
        numbers.append(number)
    kind = row[4] if len(row) == 5 else JointType.REVOLUTE
    if kind not in (JointType.REVOLUTE, JointType.PRISMATIC, "revolute", "prismatic"):
        raise InputError(f"row {index}: joint type is {kind!r}; a DH row is revolute or prismatic")
    a, alpha, d, theta = numbers
    return DHRow(a, alpha, d, theta, JointType(kind))


def _pose(T: ArrayLike, name: str) -> Array:
    array = np.asarray(T, dtype=np.float64)
    if array.shape != (4, 4):
        raise ShapeError(name, "(4, 4)", array.shape)
    R = array[:3, :3]
    rigid = np.all(np.isfinite(array)) and np.allclose(R @ R.T, np.eye(3), rtol=0.0, atol=_POSE_TOLERANCE)
    if not rigid or np.linalg.det(R) < 0.0 or not np.array_equal(array[3], (0.0, 0.0, 0.0, 1.0)):
        raise InputError(f"{name} is not a pose; give a rotation, a position in m and the last row 0 0 0 1")
    return frozen_array(array, (4, 4))
