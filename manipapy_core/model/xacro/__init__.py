"""Expands xacro: macros, properties, conditions, includes and expressions, without running any code of the file."""
