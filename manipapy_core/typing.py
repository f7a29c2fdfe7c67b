"""Types that every part of the library shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""Double-precision numbers."""

AnyArray: TypeAlias = NDArray[Any]
"""Numbers of any type, also on a GPU."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how much is done and how much there is to do."""
