"""One publisher of a topic is accepted: the messages of all others are not used, and their presence is known.

Any node may publish on any topic. A loop that took whatever arrives would mix the states of two arms, or the commands
of two controllers. Here a topic is bound to the publisher that was alone when it was first heard, until that publisher
falls silent.
"""

from __future__ import annotations

MAX_SOURCES = 64
"""Publishers that are remembered."""


class BoundSource:
    """Decides which publisher of a topic is accepted; identities are those of `take_identified`.

    Args:
        observe: How long a publisher must be alone before it is bound [s]; 0: the first one is bound at once.
        release: Silence after which a publisher counts as gone [s].
    """

    def __init__(self, *, observe: float, release: float):
        self._observe, self._release = observe, release
        self.bound: bytes | None = None
        """The accepted publisher; None: there is none yet."""
        self._heard: dict[bytes, float] = {}
        """Last time that each publisher was heard [s]."""
        self._alone_since: float | None = None

    def heard(self, source: bytes, now: float) -> bool:
        """Records a message of a publisher; whether it may be used.

        Args:
            source: Identity of the publisher.
            now: Monotonic time [s], never earlier than in the call before.
        """
        if source not in self._heard and len(self._heard) >= MAX_SOURCES:
            self._forget(now)
            if len(self._heard) >= MAX_SOURCES:
                return False
        self._heard[source] = now
        if self.bound is None:
            self._bind(source, now)
        return source == self.bound

    def update(self, now: float) -> bool:
        """Releases a bound publisher that is silent; whether it did. To be called periodically."""
        if self.bound is None or now - self._heard.get(self.bound, now) <= self._release:
            return False
        self._heard.pop(self.bound, None)
        self.bound = self._alone_since = None
        return True

    def others(self, now: float) -> tuple[bytes, ...]:
        """Other publishers that are not silent; while none is bound, all of them if there are several."""
        if len(self._heard) == 1:
            return ()
        found = tuple(name for name, at in self._heard.items() if name != self.bound and now - at <= self._release)
        return found if self.bound is not None or len(found) > 1 else ()

    def reset(self) -> None:
        """Forgets everything."""
        self.bound = self._alone_since = None
        self._heard.clear()

    def _bind(self, source: bytes, now: float) -> None:
        if self.others(now):
            self._alone_since = None
            return
        if self._alone_since is None:
            self._alone_since = now
        if now - self._alone_since >= self._observe:
            self.bound = source

    def _forget(self, now: float) -> None:
        self._heard = {name: at for name, at in self._heard.items() if name == self.bound or now - at <= self._release}
