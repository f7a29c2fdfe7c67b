"""Matplotlib figures in a window or, without a screen, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingPackage
from ..typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.axes3d import Axes3D


def require_matplotlib() -> None:
    """Raises MissingPackage if Matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingPackage("matplotlib", "drawing", "plots") from None


def has_screen() -> bool:
    """Whether figures can be shown: Matplotlib uses an interactive backend."""
    require_matplotlib()
    import matplotlib.pyplot as plt
    from matplotlib.backends.registry import BackendFilter, backend_registry

    in_memory: list[str] = backend_registry.list_builtin(BackendFilter.NON_INTERACTIVE)  # type: ignore[no-untyped-call]
    return plt.get_backend().lower() not in in_memory


def new_figure(**options: Any) -> Figure:
    """A figure in a window; without a screen, one in memory that pyplot does not keep.

    Args:
        options: Passed to the figure, such as `figsize`.
    """
    if has_screen():
        import matplotlib.pyplot as plt

        return plt.figure(**options)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(**options)
    FigureCanvasAgg(figure)
    return figure


def new_axes(figure: Figure | None = None, position: Any = 111) -> Axes3D:
    """3-D axes for robots: plain background, floor grid only, view from the front right.

    Args:
        figure: A new one if not given.
        position: As in `Figure.add_subplot`.
    """
    figure = new_figure(figsize=(7, 7)) if figure is None else figure
    axes: Any = figure.add_subplot(position, projection="3d", computed_zorder=False)
    axes.view_init(elev=22, azim=-55)
    axes.set_proj_type("persp", focal_length=0.6)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis.line.set_color((0.55, 0.57, 0.6, 1.0))
        axis._axinfo["grid"].update(color=(0.88, 0.89, 0.91, 1.0), linewidth=0.7)
    axes.zaxis.pane.set_edgecolor((0.8, 0.81, 0.83, 1.0))
    axes.tick_params(labelsize=7, colors="0.35", pad=-1)
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    return axes


def include(axes: Any, points: Array) -> None:
    """Widens the axes to include these points [m], shape (..., 3), with equal scale in all directions."""
    flat = np.reshape(points, (-1, 3))
    if not len(flat):
        return
    axes.auto_scale_xyz(*flat.T, had_data=getattr(axes, "_holds_robot", False))
    axes._holds_robot = True
    axes.set_aspect("equal")


def show(figure: Figure) -> None:
    """Opens the windows and waits until they are closed; does nothing without a screen."""
    if has_screen() and figure.canvas.manager is not None:
        import matplotlib.pyplot as plt

        plt.show()
