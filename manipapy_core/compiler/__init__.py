"""The robot compiler: algorithms written once, traced for one robot, emitted as machine code."""

from .function import CompiledFunction
from .kernels import RECIPES, KernelSet, bind

__all__ = ["RECIPES", "CompiledFunction", "KernelSet", "bind"]
