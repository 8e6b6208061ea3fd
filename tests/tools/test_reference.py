"""The generated pages of docs/."""

from pathlib import Path

import pytest

from tools.reference import ROOT, pages, settings_page


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_a_generated_page_is_up_to_date(path: Path):
    assert path.read_text(encoding="utf-8") == pages()[path], "run `make docs`"


def test_the_settings_page_has_every_key_of_a_pool_with_its_bounds():
    page = settings_page()
    assert "| `<name>.limits.accelerators` | number from 1 | `null` |" in page
    assert "| `<name>.weight` | number from 1 to 100 | `null` |" in page


def test_every_page_that_the_readme_names_exists():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = {part.partition(")")[0] for part in readme.split("](")[1:]}
    missing = [name for name in named if not name.startswith("http") and not (ROOT / name).exists()]
    assert not missing
