"""The robot compiler: algorithms written once, traced for one robot, emitted as machine code."""

from .algorithms.ik_step import Task
from .function import CompiledFunction
from .kernels import RECIPES, KernelSet, bind, kernels_of

__all__ = [
    "RECIPES",
    "CompiledFunction",
    "KernelSet",
    "Task",
    "bind",
    "kernels_of",
]
