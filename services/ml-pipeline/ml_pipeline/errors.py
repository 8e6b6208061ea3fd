"""What goes wrong for a reason that a person can act on; everything else is a bug and keeps its traceback."""


class PipelineError(Exception):
    """A step cannot go on. Its text is a sentence for whoever started the workflow."""


class Missing(PipelineError):
    """Nothing is stored at an address."""


class AlreadyThere(PipelineError):
    """Something is stored at an address that is written once."""
