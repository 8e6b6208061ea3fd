"""The errors of the local cloud."""


class AwsError(Exception):
    """A refusal, with the error code that AWS (or Kubernetes) answers.

    Attributes:
        code: such as `DependencyViolation`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class ControlPlaneFailed(Exception):
    """A part of the real cluster ended or did not become ready; the text names it and shows the end of its log."""
