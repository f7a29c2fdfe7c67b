"""Times of a loop in bounded memory: what is late, by how much, how often."""

from __future__ import annotations

from dataclasses import dataclass

BINS = 2000
BIN_NS = 1000
"""One bin per microsecond up to two milliseconds; the last one takes all that is longer."""


@dataclass(frozen=True)
class Spread:
    """A distribution of times in a few numbers, all in microseconds."""

    count: int
    mean: float
    p50: float
    p99: float
    p999: float
    largest: float


class Histogram:
    """Counts of times. One thread records; others may ask at any moment."""

    def __init__(self) -> None:
        self._counts = [0] * (BINS + 1)
        self._total = 0
        self._largest = 0

    def record(self, nanoseconds: int) -> None:
        """Adds one time [ns]; a negative one counts as zero."""
        bin_ = nanoseconds // BIN_NS
        self._counts[bin_ if 0 <= bin_ < BINS else (BINS if bin_ > 0 else 0)] += 1
        self._total += nanoseconds
        if nanoseconds > self._largest:
            self._largest = nanoseconds

    def longer_than(self, microseconds: float) -> int:
        """How many were longer [µs], to the resolution of a bin."""
        return sum(self._counts[min(int(microseconds * 1000) // BIN_NS, BINS) :])

    def spread(self) -> Spread:
        """The distribution so far; quantiles are upper edges of their bins."""
        counts = self._counts.copy()
        count = sum(counts)
        if not count:
            return Spread(0, 0.0, 0.0, 0.0, 0.0, 0.0)
        p50, p99, p999 = (self._quantile(counts, count, share) for share in (0.5, 0.99, 0.999))
        return Spread(count, self._total / count / 1000.0, p50, p99, p999, self._largest / 1000.0)

    def _quantile(self, counts: list[int], count: int, share: float) -> float:
        seen = 0
        for bin_, entries in enumerate(counts[:BINS]):
            seen += entries
            if seen >= share * count:
                return (bin_ + 1) * BIN_NS / 1000.0
        return self._largest / 1000.0
