"""Robot compiler: algorithms written once, traced for one robot, emitted as machine code.

`kernels_of` and `bind` give the compiled kinematics and dynamics of a chain; `compile_formula` compiles straight-line
code of your own, and `differentiate` gives the formula of its exact derivatives. Packages that generate code themselves
(inverse kinematics, the collision checker) import the modules `trace`, `algorithms` and `llvm`.
"""

from .algorithms.ik_step import Task
from .differentiation import differentiate
from .formulas import (
    UNLIMITED,
    absolute,
    clamp,
    compile_formula,
    compile_per_joint,
    largest,
    positive_part,
    switch,
)
from .function import CompiledFunction
from .kernels import GRAVITY_INPUT, PAYLOAD_INPUT, RECIPES, KernelSet, bind, kernels_of
from .mechanism import Mechanism, mechanism_of
from .trace import Input

__all__ = [
    "GRAVITY_INPUT",
    "PAYLOAD_INPUT",
    "RECIPES",
    "UNLIMITED",
    "CompiledFunction",
    "Input",
    "KernelSet",
    "Mechanism",
    "Task",
    "absolute",
    "bind",
    "clamp",
    "compile_formula",
    "compile_per_joint",
    "differentiate",
    "kernels_of",
    "largest",
    "mechanism_of",
    "positive_part",
    "switch",
]
