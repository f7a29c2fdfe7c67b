"""The simulation with PyBullet: one server, its robots and its objects."""

from .client import BulletClient, pybullet

__all__ = ["BulletClient", "pybullet"]
