"""Tests of the simulation run on both physics engines."""

from __future__ import annotations

import pytest

from manipapy_core.sim import Simulator, engine


@pytest.fixture(params=[simulator.value for simulator in Simulator])
def simulator(request, monkeypatch) -> Simulator:
    """Each engine in turn, as the default of `SimWorld`."""
    pytest.importorskip(request.param, reason="this engine is not installed: pip install 'manipapy[sim]'")
    monkeypatch.setattr(engine, "DEFAULT_SIMULATOR", Simulator(request.param))
    return Simulator(request.param)
