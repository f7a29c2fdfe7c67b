"""Rendering of the simulated world: stereo cameras and still images."""
