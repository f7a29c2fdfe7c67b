"""A few lines that write URDF text, so that a test can describe its robot."""

from __future__ import annotations

from collections.abc import Sequence

Numbers = Sequence[float]


def numbers(values: Numbers) -> str:
    """Space-separated decimals that read back as the very same doubles."""
    return " ".join(repr(float(value)) for value in values)


def link(
    name: str,
    mass: float | None = None,
    com: Numbers = (0.0, 0.0, 0.0),
    rpy: Numbers = (0.0, 0.0, 0.0),
    inertia: Numbers = (0.02, 0.0, 0.0, 0.03, 0.0, 0.025),
) -> str:
    """One <link>; without `mass` it has no <inertial> at all.

    Args:
        com: Centre of mass in the link frame [m].
        rpy: Turn of the inertial frame [rad].
        inertia: ixx, ixy, ixz, iyy, iyz, izz in the inertial frame [kg m2].
    """
    if mass is None:
        return f'<link name="{name}"/>'
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    entries = " ".join(f'{key}="{float(value)!r}"' for key, value in zip(names, inertia, strict=True))
    return (
        f'<link name="{name}"><inertial><origin xyz="{numbers(com)}" rpy="{numbers(rpy)}"/>'
        f'<mass value="{float(mass)!r}"/><inertia {entries}/></inertial></link>'
    )


def joint(
    name: str,
    kind: str,
    parent: str,
    child: str,
    *,
    xyz: Numbers = (0.0, 0.0, 0.0),
    rpy: Numbers = (0.0, 0.0, 0.0),
    axis: Numbers | None = None,
    limits: tuple[float, float] = (-2.0, 2.0),
    mimic: tuple[str, float, float] | None = None,
    damping: float = 0.0,
    friction: float = 0.0,
) -> str:
    """One <joint>; `mimic` is (driver, multiplier, offset); without `axis` the element is left out."""
    parts = [f'<parent link="{parent}"/><child link="{child}"/>']
    parts.append(f'<origin xyz="{numbers(xyz)}" rpy="{numbers(rpy)}"/>')
    if axis is not None:
        parts.append(f'<axis xyz="{numbers(axis)}"/>')
    if kind in ("revolute", "prismatic"):
        lower, upper = limits
        parts.append(f'<limit lower="{lower!r}" upper="{upper!r}" velocity="3.0" effort="100.0"/>')
    if kind == "continuous":
        parts.append('<limit velocity="3.0" effort="100.0"/>')
    if damping or friction:
        parts.append(f'<dynamics damping="{damping!r}" friction="{friction!r}"/>')
    if mimic is not None:
        driver, multiplier, offset = mimic
        parts.append(f'<mimic joint="{driver}" multiplier="{multiplier!r}" offset="{offset!r}"/>')
    return f'<joint name="{name}" type="{kind}">{"".join(parts)}</joint>'


def robot(name: str, *elements: str) -> str:
    """The whole document."""
    return f'<?xml version="1.0"?>\n<robot name="{name}">\n' + "\n".join(elements) + "\n</robot>\n"
