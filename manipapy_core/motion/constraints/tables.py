"""Tables of a chain for compiled code that serves every robot."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from ... import lie
from ...compiler import mechanism_of
from ...errors import UnknownLink
from ...model.chain import Chain
from ...typing import Array


@functools.lru_cache(maxsize=16)
def body_tables(chain: Chain) -> tuple[NDArray[np.int64], Array]:
    """Tables of the bodies of a chain: parent, element of q, turning or sliding; pose, turn, ratio."""
    bodies = mechanism_of(chain).bodies
    whole = np.array([[b.parent, b.dof, b.revolute] for b in bodies], dtype=np.int64)
    numbers = np.array([[*b.rotation, *b.translation, b.turn, b.ratio] for b in bodies], dtype=np.float64)
    return whole, numbers


def link_placement(chain: Chain, link: str) -> tuple[int, Array]:
    """Body of a link in the compiled tables, and T_body_link."""
    if link not in chain.link_names:
        raise UnknownLink(link, chain.link_names)
    place = mechanism_of(chain).links[chain.link_names.index(link)]
    return place.body, lie.pose(np.reshape(place.rotation, (3, 3)), np.array(place.translation))
