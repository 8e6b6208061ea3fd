"""How many bytes of bodies are held at once, by all requests together."""

from collections.abc import Generator
from contextlib import contextmanager

from gpunet.errors import ImageTooLarge, Overloaded


class Budget:
    """A sum that all bodies share. For use in one event loop.

    Args:
        total: bytes that may be held together.
    """

    def __init__(self, total: int) -> None:
        self._left = total

    @contextmanager
    def body(self, most: int) -> "Generator[Body]":
        """One body that grows; its bytes count until the block is left."""
        body = Body(self, most)
        try:
            yield body
        finally:
            self._left += body.size

    def take(self, count: int) -> None:
        """Counts bytes.

        Raises:
            Overloaded: there are not so many left.
        """
        if count > self._left:
            raise Overloaded("bodies fill the memory that is set aside for them")
        self._left -= count


class Body:
    """The bytes of one body so far."""

    def __init__(self, budget: Budget, most: int) -> None:
        self.size = 0
        self.most = most
        self._budget = budget
        self._chunks: list[bytes] = []

    def announce(self, length: str | None) -> None:
        """Takes note of a Content-Length: what is too large shall not be transferred first.

        Raises:
            ImageTooLarge: it is more than allowed.
        """
        if length is not None and length.isdecimal() and int(length[:20]) > self.most:
            raise ImageTooLarge(f"announced {length[:20]} bytes")

    def append(self, chunk: bytes) -> None:
        """Adds bytes.

        Raises:
            ImageTooLarge: they are more than allowed.
            Overloaded: all bodies together are too many.
        """
        if self.size + len(chunk) > self.most:
            raise ImageTooLarge(f"more than {self.most} bytes")
        self._budget.take(len(chunk))
        self.size += len(chunk)
        self._chunks.append(chunk)

    def content(self) -> bytes:
        """Returns all bytes."""
        if len(self._chunks) > 1:
            self._chunks = [b"".join(self._chunks)]
        return self._chunks[0] if self._chunks else b""
