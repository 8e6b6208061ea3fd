"""Settings of what becomes of data."""

from typing import Literal

from schema.fields import Section


class DataProtection(Section):
    """What becomes of buckets, databases, file systems, volumes, images, keys and generated secrets."""

    mode: Literal["keep", "delete"] = "keep"
    """`keep`: nothing of it is deleted; a destroy is refused, or leaves it for the next up. `delete`: it goes with the
    stack, with all that is in it."""
