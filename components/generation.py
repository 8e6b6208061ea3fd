"""Numbers for values that are only written: a provider never reads such a value, so a number says that it changed."""

import hashlib


def generation(value: str) -> int:
    """A number that is another one for another value, within what a signed 32-bit integer holds.

    Args:
        value: the value, or what identifies it.
    """
    return int(hashlib.sha256(value.encode()).hexdigest()[:8], 16) >> 1
