"""Types that every part of the library shares."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""Double-precision numbers."""

AnyArray: TypeAlias = NDArray[Any]
"""Numbers of any type, also on a GPU."""
