"""How many calls an endpoint takes at once: additive increase, halved on every 429, shared by all threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Limiter:
    """Adaptive cap of concurrent calls to one endpoint.

    Parameters
    ----------
    most
        Upper bound (`--max-concurrency`).

    Examples
    --------
    >>> limiter = Limiter(8)
    >>> limiter.refused(0.0); limiter.limit
    4.0
    """

    def __init__(self, most: int = 8):
        self.most = most
        self.limit = float(most)
        self.active = 0
        self.not_before = 0.0
        self._condition = threading.Condition()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a free slot, and for the end of a pause that the endpoint asked for."""
        with self._condition:
            while True:
                pause = self.not_before - time.monotonic()
                if pause <= 0 and self.active < max(1, int(self.limit)):
                    break
                self._condition.wait(pause if pause > 0 else None)
            self.active += 1
        try:
            yield
        finally:
            with self._condition:
                self.active -= 1
                self._condition.notify_all()

    def accepted(self) -> None:
        with self._condition:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)
            self._condition.notify_all()

    def refused(self, pause: float) -> None:
        """The endpoint said 429: halve, and let nobody start before the pause (in seconds) is over."""
        with self._condition:
            self.limit = max(1.0, self.limit / 2)
            self.not_before = max(self.not_before, time.monotonic() + pause)
            self._condition.notify_all()
