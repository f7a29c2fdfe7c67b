"""The names and signatures of ManipulaPy's documents, over this library.

A program written for that library runs with its import lines changed: `from ManipulaPy.dynamics import …` becomes
`from manipapy_core.compat.dynamics import …`. The answers are those of this library, also where the other one is known
to be wrong; each module says so. New programs use `Robot`, `kinematics` and `dynamics` directly.
"""

from . import dynamics, kinematics, urdf_processor, utils

__all__ = ["dynamics", "kinematics", "urdf_processor", "utils"]
