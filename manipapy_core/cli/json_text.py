"""Data as JSON text; loads nothing but the standard library."""

from __future__ import annotations

import json
import math
from typing import Any


def print_json(data: Any) -> None:
    """Print data as JSON; numbers that JSON has no word for (infinity, nan) become null."""
    print(json.dumps(_plain(data), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
