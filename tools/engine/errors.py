"""What can go wrong while a program is built."""


class BuildError(Exception):
    """A build that cannot start or did not succeed; its text says why and what to do."""
