"""Images of a world by PyBullet's software renderer, with round shapes as fine as ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from manipapy_core.model import CylinderGeometry, MeshGeometry, SphereGeometry
from manipapy_core.model.meshes import write_obj
from manipapy_core.sim import Pinhole, SimWorld
from manipapy_core.sim.bullet import BulletClient
from manipapy_core.sim.bullet.client import to_position_quaternion
from manipapy_core.sim.bullet.objects import BulletObjects
from manipapy_core.sim.bullet.robot_file import load_robot
from manipapy_core.sim.camera import view_matrix
from manipapy_core.sim.render.surfaces import _unit_cylinder, _unit_sphere


class RoundMeshes:
    """One unit sphere and one unit cylinder in a folder: PyBullet's own have twelve edges."""

    def __init__(self, folder: Path):
        self.sphere, self.cylinder = str(folder / "sphere.obj"), str(folder / "cylinder.obj")
        write_obj(self.sphere, _unit_sphere())
        write_obj(self.cylinder, _unit_cylinder())

    def replace(self, geometry):
        """The mesh for a sphere or cylinder; any other geometry unchanged."""
        if isinstance(geometry, SphereGeometry):
            return MeshGeometry(self.sphere, self.sphere, np.full(3, geometry.radius))
        if isinstance(geometry, CylinderGeometry):
            size = np.array([geometry.radius, geometry.radius, geometry.length])
            return MeshGeometry(self.cylinder, self.cylinder, size)
        return geometry


def bullet_image(
    world: SimWorld, pinhole: Pinhole, T_world_optical: np.ndarray, folder: Path
) -> tuple[np.ndarray, np.ndarray]:
    """Unlit colours, shape (height, width, 3), and depth [m], shape (height, width), inf at the background."""
    content, view = world.content_and_view()
    meshes = RoundMeshes(folder)
    with BulletClient() as client:
        objects = BulletObjects(client, visuals=True)
        for name, item in content.objects.items():
            objects.add(replace(item, shape=meshes.replace(item.shape), mass=0.0))
            objects.place(name, view.T_world_object[name])
        for name, (robot, T_world_base) in content.robots.items():
            links = {
                key: replace(link, visuals=tuple(replace(s, geometry=meshes.replace(s.geometry)) for s in link.visuals))
                for key, link in robot.links.items()
            }
            position, quaternion = to_position_quaternion(T_world_base)
            body = load_robot(
                lambda path, p=position, q=quaternion: client.loadURDF(path, p, q, useFixedBase=True),
                replace(robot, links=links),
                visuals=True,
                collisions=False,
            )
            state = world.robots[name].state(mimic=True)
            positions = dict(zip(state.names, state.q))
            for index in range(client.getNumJoints(body)):
                joint = client.getJointInfo(body, index)[1].decode()
                if joint in positions:
                    client.resetJointState(body, index, positions[joint])
        _, _, colours, buffer, _ = client.getCameraImage(
            pinhole.width,
            pinhole.height,
            view_matrix(T_world_optical).T.ravel().tolist(),
            pinhole.projection_matrix().T.ravel().tolist(),
            lightColor=[1.0, 1.0, 1.0],
            lightAmbientCoeff=1.0,
            lightDiffuseCoeff=0.0,
            lightSpecularCoeff=0.0,
            shadow=0,
            renderer=client.ER_TINY_RENDERER,
            flags=client.ER_NO_SEGMENTATION_MASK,
        )
        objects.close()
    shape = (pinhole.height, pinhole.width)
    rgb = np.asarray(colours, dtype=np.uint8).reshape(*shape, 4)[..., :3]
    return rgb, pinhole.metric_depth(np.asarray(buffer, dtype=np.float32).reshape(shape))
