"""The package manipapy: library, ROS 2 nodes, and what `ros2 run` and `ros2 launch` look for in lib/ and share/.

All metadata lives here. pyproject.toml names the build backend and configures the tools, package.xml repeats for
rosdep and colcon what they need to know.
"""

from glob import glob
from pathlib import Path

from setuptools import Distribution, find_packages, setup

NAME = "manipapy"


class DistributionWithData(Distribution):
    """Has its data files installed by `pip install -e .` too.

    setuptools asks for `has_data` there, while the method has always been named `has_data_files`; without the other
    name an editable installation would lack lib/manipapy and share/manipapy.
    """

    has_data = Distribution.has_data_files


def with_subfolders(folder: str) -> list[tuple[str, list[str]]]:
    """A folder of ours below share/manipapy, as setuptools wants it: one entry per subfolder."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    parents = sorted({path.parent for path in files})
    return [(f"share/{NAME}/{parent}", [str(path) for path in files if path.parent == parent]) for parent in parents]


# Jazzy from PyPI. The message packages are pinned because newer ones belong to the next distribution.
ROS = [
    "ros-jazzy-rclpy[fastrtps]==7.1.6",
    "ros-action-msgs==2.0.3",
    "ros-ament-index-python==1.8.1",
    "ros-diagnostic-msgs==5.3.6",
    "ros-lifecycle-msgs==2.0.3",
    "ros-geometry-msgs==5.3.6",
    "ros-rosgraph-msgs==2.0.3",
    "ros-sensor-msgs==5.3.6",
    "ros-shape-msgs==5.3.6",
    "ros-std-msgs==5.3.6",
    "ros-std-srvs==5.3.6",
    "ros-stereo-msgs==5.3.6",
    "ros-trajectory-msgs==5.3.6",
    "ros-visualization-msgs==5.3.6",
]

EXTRAS = {
    "ros": ROS,
    # MuJoCo has wheels for every Python and platform. PyBullet comes where it has one: its own end at Python 3.11,
    # pybullet-arm64 is the same module for newer ones (without NumPy). Elsewhere it would compile for ten minutes.
    "sim": [
        "mujoco>=3.3",
        "pybullet>=3.2.7; sys_platform == 'linux' and platform_machine == 'x86_64' and python_version < '3.12'",
        "pybullet-arm64>=3.2.8; sys_platform == 'linux' and platform_machine == 'x86_64' and "
        "python_version >= '3.12' and python_version < '3.14'",
        "pybullet-arm64>=3.2.8; sys_platform == 'darwin' and platform_machine == 'arm64' and python_version < '3.14'",
        "pybullet-arm64>=3.2.8; sys_platform == 'win32' and platform_machine == 'AMD64' and python_version < '3.14'",
        "trimesh>=4.0",
    ],
    # Closed-form inverse kinematics; without it all solutions are found by search.
    "ik": ["eaik>=1.2.2"],
    "perception": ["opencv-python-headless>=4.10", "scipy>=1.13"],
    "planning": ["ompl>=2.0.1", "ruckig>=0.19", "toppra>=0.6.10"],
    # Convex hulls by scipy; mesh files by trimesh, COLLADA among them by pycollada.
    "collision": ["coal>=3.0.3", "pycollada>=0.8", "scipy>=1.13", "trimesh>=4.0"],
    # Twist following by daqp, polygons of base placement by shapely.
    "capability": ["daqp>=0.10", "shapely>=2.0"],
    "viewer": ["viser>=1.1"],
    # ctk brings NVRTC and the CUDA headers, so that only the driver has to be there.
    "gpu": ["cupy-cuda13x[ctk]>=14"],
    "plots": ["matplotlib>=3.9"],
    "recording": ["mcap>=1.2", "mcap-ros2-support>=0.5"],
    # The site; `make docs` installs it into an environment of its own, so "all" leaves it out.
    "docs": ["furo>=2025.7", "myst-parser>=4", "sphinx>=8", "sphinxcontrib-mermaid>=1"],
    # `make notebooks` installs it into an environment of its own, so "all" leaves it out.
    "notebooks": ["ipykernel>=6.29", "matplotlib>=3.9", "notebook>=7"],
    # MJCF is read by MuJoCo's own compiler.
    "mjcf": ["mujoco>=3.3"],
    # Differentiable operations of these libraries (manipapy_core.autodiff). Large, so "all" leaves them out.
    "torch": ["torch>=2.4"],
    "jax": ["jax>=0.4.35"],
    "big": ["dask>=2025.1", "distributed>=2025.1", "h5py>=3.11"],
    "test": [
        "daqp>=0.10",
        "eaik>=1.2.2",
        # Other people's descriptions of the UR5 and the Panda; 131 MB, five seconds once, then from the cache of uv.
        "example-robot-data>=6",
        "hypothesis>=6.130",
        # The notebooks are executed.
        "ipykernel>=6.29",
        "jax>=0.4.35",
        "matplotlib>=3.9",
        "mpmath>=1.3",
        "mujoco>=3.3",
        "mypy>=1.15",
        "nbclient>=0.10",
        # The CUDA compiler as a library: compiles for every architecture without a GPU or a driver.
        "nvidia-cuda-nvrtc>=13,<14; sys_platform == 'linux'",
        "pin>=4.0",
        "pre-commit>=4",
        "pymoveit2==5.0.0",
        "pytest>=8",
        "pytest-rerunfailures>=15",
        "pytest-xdist>=3.6",
        # Reads our recordings by a second route.
        "rosbags>=0.10",
        "ruff>=0.11",
        "scikit-learn>=1.5",
        "scipy>=1.13",
        "setuptools>=77",
        "shapely>=2.0",
        "types-PyYAML",
        # The maker's expansion, beside which ours is tested.
        "xacro>=2.0.13",
    ],
}
LEFT_OUT = ("docs", "jax", "notebooks", "torch")
EXTRAS["all"] = sorted({line for name, lines in EXTRAS.items() if name not in LEFT_OUT for line in lines})

setup(
    name=NAME,
    distclass=DistributionWithData,
    version="0.1.0",
    description="Robot-arm toolkit: exact, compiled kinematics and dynamics as a Python library and ROS 2 nodes",
    author="The manipapy developers",
    author_email="manipapy@example.com",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.10",
    packages=find_packages(include=["manipapy_core", "manipapy_core.*", "manipapy_ros", "manipapy_ros.*"]),
    package_data={"manipapy_core": ["model/robots/**/*", "py.typed"]},
    install_requires=[
        "llvmlite>=0.44",
        "numba>=0.61",
        "numpy>=1.26",
        "pyyaml>=6",
        "rich>=13",
        "typer>=0.12",
    ],
    extras_require=EXTRAS,
    entry_points={
        "console_scripts": ["manipapy = manipapy_ros.quick:main"],
        "manipapy.commands": [
            "capability = manipapy_core.cli.capability:register",
            "ros = manipapy_ros.bringup.cli:register",
        ],
    },
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/manipapy"]),
        (f"share/{NAME}", ["package.xml"]),
        *with_subfolders("launch"),
        *with_subfolders("config"),
        # pip writes entry points to bin/, where `ros2 run` does not look; data files arrive in lib/ by both routes.
        (f"lib/{NAME}", glob("manipapy_ros/executables/*")),
    ],
    zip_safe=False,
)
