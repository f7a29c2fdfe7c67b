"""Base placement: where an arm reaches two grasps, from an inverse reachability map on the floor.

Run it: python examples/07_base_placement.py [image.png]
"""

from __future__ import annotations

import sys

import numpy as np

from manipapy_core import Robot, kinematics
from manipapy_core.draw import new_figure
from manipapy_core.draw.capability import draw_map_slice, draw_placements
from manipapy_core.reachability import Floor, InverseMap, MapSpec, Polygon, build_map, place_base, score_floor

TABLE = Polygon.rectangle((-0.3, -0.6), (0.3, 0.6))


def grasp_from_above(x: float, y: float, z: float) -> np.ndarray:
    T = np.diag([1.0, -1.0, -1.0, 1.0])
    T[:3, 3] = x, y, z
    return T


def main() -> None:
    robot = Robot.from_urdf("panda")
    # A coarse map for a short run: 10 cm and 10°. Use 5 cm and ten million samples for real work.
    spec = MapSpec(robot, "panda_link0", "panda_hand_tcp", samples=1_000_000, resolution=0.1, tilts=18)
    reach = build_map(spec)
    print(f"Map: {len(reach.cell):,} of {reach.grid.cells:,} cells reached, {reach.memory / 1e6:.0f} MB")

    grasps = np.array([grasp_from_above(0.0, -0.3, 0.35), grasp_from_above(0.1, 0.35, 0.35)])
    apart = np.linalg.norm(grasps[0, :3, 3] - grasps[1, :3, 3])
    print(f"Two grasps {apart:.2f} m apart over a table; the base must stay off the table")
    floor = Floor(keep_out=(TABLE,), footprint=Polygon.disc(0.12))
    places = place_base(reach, grasps, floor, count=4)
    for place in places:
        reached = [place.T_world_base @ kinematics.forward(reach.chain, q) for q in place.q]
        off = max(np.linalg.norm(T[:3, 3] - grasp[:3, 3]) for T, grasp in zip(reached, grasps))
        where = f"x {place.x:+.2f} m, y {place.y:+.2f} m, heading {np.degrees(place.heading):4.0f}°"
        print(f"  {where}: score {place.score:.3f}, both grasps within {1e6 * off:.2f} µm")

    inverse = InverseMap.build(reach)  # the base seen from the tip: an object of its own, with save and load
    standing = inverse.on_floor(grasps, floor)
    x, y, heading, score = next(standing.ranked())
    print(f"Inverse map: {len(inverse):,} entries; {np.count_nonzero(standing.score):,} places reach both grasps,")
    print(f"  the best at x {x:+.2f} m, y {y:+.2f} m, heading {np.degrees(heading):.0f}°, score {score:.3f}")

    figure = new_figure(figsize=(12, 5))
    left, right = figure.add_axes((0.07, 0.1, 0.4, 0.8)), figure.add_axes((0.57, 0.1, 0.4, 0.8))
    figure.colorbar(draw_map_slice(left, reach, height=0.35), ax=left, label="manipulability")
    left.set_title("reachable from above at z = 0.35 m, base at the origin", fontsize=10)
    figure.colorbar(draw_placements(right, score_floor(reach, grasps, floor)), ax=right, label="score")
    right.fill(*TABLE.corners.T, color="0.85", zorder=0.5)
    right.plot(*grasps[:, :2, 3].T, "r^", label="grasps")
    for place in places:
        ahead = 0.15 * np.array([np.cos(place.heading), np.sin(place.heading)])
        end = place.x + ahead[0], place.y + ahead[1]
        right.annotate("", end, (place.x, place.y), arrowprops={"arrowstyle": "->"})
    right.set_title("score of base positions for both grasps", fontsize=10)
    right.legend(loc="upper right", fontsize=8)
    path = sys.argv[1] if len(sys.argv) > 1 else "base_placement.png"
    figure.savefig(path, dpi=100)
    print("Image:", path)


if __name__ == "__main__":
    main()
