"""Reading and writing URDF and xacro."""
