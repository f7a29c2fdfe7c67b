"""DH tables: a robot from a table, and a table from any robot.

Run it: python examples/02_dh.py [robot.urdf]
"""

from __future__ import annotations

import sys
from math import pi
from pathlib import Path

import numpy as np

from manipapy_core import Robot, kinematics
from manipapy_core.model import dh

# a [m], alpha [rad], d [m], theta [rad], as Universal Robots publishes it for the UR5.
UR5 = [
    (0.0, pi / 2, 0.089159, 0.0),
    (-0.425, 0.0, 0.0, 0.0),
    (-0.39225, 0.0, 0.0, 0.0),
    (0.0, pi / 2, 0.10915, 0.0),
    (0.0, -pi / 2, 0.09465, 0.0),
    (0.0, 0.0, 0.0823, 0.0),
]


def main() -> None:
    np.set_printoptions(precision=4, suppress=True)
    q = [0.3, -1.2, 1.5, -0.7, 0.4, 1.1]

    table = dh.DHTable(UR5, "standard")
    print(table)
    print("\nTool pose at q =", q)
    print(table.forward(q))

    # The same numbers in the other convention describe another arm; converting shifts a and alpha by one row.
    apart = np.linalg.norm((dh.DHTable(UR5, "modified").forward(q) - table.forward(q))[:3, 3])
    print(f"\nRead as modified DH, the tool would be {apart:.3f} m off. The same arm in modified DH:\n")
    print(table.in_convention("modified"))

    # A table becomes a Robot, and a URDF for other programs.
    robot = table.to_robot("ur5_from_dh", limits=[(-2 * pi, 2 * pi)] * 6)
    arm = robot.chain("base_link", "tool0")
    error = np.abs(kinematics.forward(arm, q) - table.forward(q)).max()
    print(f"\nCompiled kinematics and DH matrices differ by {error:.0e}")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(robot.urdf)
        print("URDF:", sys.argv[1])

    # And back: the table of any serial arm.
    xarm = Robot.from_urdf("xarm6").chain("link_base", "link_eef")
    print("\nDH table of the xArm 6, from its URDF:\n")
    print(dh.from_chain(xarm, "modified"))


if __name__ == "__main__":
    main()
