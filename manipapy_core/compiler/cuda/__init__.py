"""CUDA C++ for NVIDIA GPUs."""
