"""Makes an animation (WebP) of a recorded simulation, rendered by the simulation's own renderer.

    make sim PERCEPTION=0 SECONDS=95 &  manipapy record run.mcap --seconds 110
    python scripts/film_recording.py run.mcap docs/images/sim_run.webp --from 23 --to 43 --every 0.22 --shown 0.09

Needs joint_states and sim_bridge/ground_truth in the recording; times are those of the recording [s].
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from manipapy_core import Robot, lie  # noqa: E402
from manipapy_core.model import BoxGeometry  # noqa: E402
from manipapy_core.recording import Recording  # noqa: E402
from manipapy_core.sim import SceneObject, SimWorld, read_scene, render  # noqa: E402
from manipapy_core.typing import Array  # noqa: E402

LARGEST_SIZE = 1_000_000
"""Of the file [bytes]."""
TARGET = np.array([0.2, 0.0, 0.3])
"""Point at the centre of the images, from the base of the robot [m]."""
EYE = 3.6 * np.array([0.76, -0.56, 0.33])
"""Position of the camera from there [m]; it stays, whatever moves."""
BOX = 1
"""visualization_msgs/msg/Marker.CUBE"""


def pose_of(marker: Any) -> Array:
    """T_world_object of a marker, shape (4, 4)."""
    p, o = marker.pose.position, marker.pose.orientation
    T = np.eye(4)
    T[:3, :3] = lie.rotation_from_quaternion([o.x, o.y, o.z, o.w])
    T[:3, 3] = p.x, p.y, p.z
    return T


def show_objects(world: SimWorld, markers: list[Any], scene_names: set[str]) -> None:
    """Move the objects of the scene to their poses; add boxes that were spawned, remove those that are gone."""
    present = {marker.ns for marker in markers}
    for name in set(world.objects()) - present - scene_names:
        world.remove(name)
    for marker in markers:
        if marker.ns not in world.objects() and marker.ns not in scene_names and marker.type == BOX:
            size = (marker.scale.x, marker.scale.y, marker.scale.z)
            colour = (marker.color.r, marker.color.g, marker.color.b, 1.0)
            world.spawn(SceneObject(marker.ns, BoxGeometry(size), pose_of(marker), mass=1.0, rgba=colour))
        elif marker.ns in world.objects() and not world.objects()[marker.ns].fixed:
            world.place(marker.ns, pose_of(marker))


def frames(recording: Recording, options: argparse.Namespace) -> list[Any]:
    """Images at equal distances in time."""
    states = recording.joint_states(recording.topic_ending("joint_states") or "joint_states")
    topic = recording.topic_ending("sim_bridge/ground_truth")
    truths = [(item.time, item.content.markers) for item in recording.messages([topic])] if topic else []
    scene, images = read_scene(options.scene), []
    with SimWorld() as world:
        world.load_scene(scene)
        scene_names = {item.name for item in scene.objects}
        robot = world.add_robot(Robot.from_urdf(options.robot), T_world_base=scene.T_world_base)
        target = scene.T_world_base[:3, 3] + TARGET
        for now in np.arange(options.start, options.end, options.every):
            nearest = min(int(np.searchsorted(states.times, now)), len(states.times) - 1)
            robot.reset(dict(zip(states.joint_names, states.values["position"][nearest])))
            for time, markers in reversed(truths):
                if time <= now:
                    show_objects(world, markers, scene_names)
                    break
            size = {"width": options.width, "height": options.width * 5 // 8, "supersample": 2}
            images.append(render(world, **size, lights=options.lights, eye=target + EYE, target=target))
            print(f"\r{len(images)} images", end="", flush=True)
    print()
    return images


def main() -> int:
    """Render, and write as large a quality as fits."""
    parser = argparse.ArgumentParser(description="An animation of a recorded simulation.")
    parser.add_argument("recording", type=Path)
    parser.add_argument("image", type=Path)
    parser.add_argument("--from", dest="start", type=float, required=True, help="[s]")
    parser.add_argument("--to", dest="end", type=float, required=True, help="[s]")
    parser.add_argument("--every", type=float, default=0.4, help="recorded time between two images [s]")
    parser.add_argument("--shown", type=float, default=0.1, help="time for which an image is shown [s]")
    parser.add_argument("--width", type=int, default=480)
    parser.add_argument("--lights", type=int, default=8, help="more: softer shadows, slower")
    parser.add_argument("--robot", default="ur5")
    parser.add_argument("--scene", default="table")
    options = parser.parse_args()
    from PIL import Image

    images = [Image.fromarray(np.asarray(image)) for image in frames(Recording(options.recording), options)]
    for quality in (75, 60, 45, 30):
        images[0].save(
            options.image,
            save_all=True,
            append_images=images[1:],
            duration=round(1000 * options.shown),
            loop=0,
            quality=quality,
            method=4,
        )
        if options.image.stat().st_size <= LARGEST_SIZE:
            break
    print(f"{options.image}: {len(images)} images, {options.image.stat().st_size / 1e3:.0f} kB, quality {quality}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
