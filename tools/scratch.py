"""A project of one's own around the real program: its local state lies elsewhere, its stack files may be changed."""

from pathlib import Path

import yaml

from automation.project import PROJECT_FILE, Project

ROOT = Path(__file__).parent.parent


def scratch_project(folder: Path) -> Project:
    """Makes a project in an empty folder that runs the checkout's program and policies on copies of its stack files.

    Args:
        folder: where to.
    """
    origin = Project(ROOT)
    settings = {**origin.settings(), "main": str(ROOT)}
    (folder / PROJECT_FILE).write_text(yaml.safe_dump(settings), encoding="utf-8")
    (folder / "policies").symlink_to(ROOT / "policies")
    for stack in origin.stacks():
        source = origin.stack_file(stack)
        (folder / source.name).write_bytes(source.read_bytes())
    return Project(folder)
