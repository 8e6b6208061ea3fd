"""docs/policies.md says of the rules what the rules say of themselves."""

import pytest

from policies.rules import ALL
from tools.policy_table import BEGIN, PAGE, page


def test_the_page_is_up_to_date():
    current = PAGE.read_text(encoding="utf-8")
    assert page(current) == current, "run `make docs`"


def test_every_rule_and_every_setting_is_on_the_page():
    text = page(PAGE.read_text(encoding="utf-8"))
    for rule in ALL:
        assert f"| `{rule.name}` | {rule.description} |" in text
        for setting in rule.config_schema.properties if rule.config_schema else ():
            assert f"| `{rule.name}` | `{setting}` |" in text


@pytest.mark.parametrize("text", ["# Policies\n", f"# Policies\n{BEGIN}\n"])
def test_a_page_without_its_marks_is_refused(text):
    with pytest.raises(ValueError, match="lacks the line"):
        page(text)
