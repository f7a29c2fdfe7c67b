"""Other formats as URDF: SDF and MJCF."""
