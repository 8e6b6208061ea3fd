"""Drives the engine over the project's stacks, for the `eksai` command and for other tools."""
