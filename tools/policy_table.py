"""The table of rules in docs/policies.md, made from what the rules say of themselves."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pulumi_policy import Policy, StackValidationPolicy

from policies.rules import ALL

PAGE = Path(__file__).parent.parent / "docs" / "policies.md"
BEGIN = "<!-- The rules; written by `make docs`. -->"
END = "<!-- End of the rules. -->"


def page(current: str) -> str:
    """Returns the page with its part between the two marks renewed.

    Args:
        current: the page as it is.

    Raises:
        ValueError: the page lacks a mark.
    """
    before, begin, rest = current.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} lacks the line {BEGIN if not begin else END!r}; put it where the rules belong.")
    return f"{before}{BEGIN}\n\n{rules()}\n{END}{after}"


def rules() -> str:
    """Returns the table of all rules, then the settings of those that have some."""
    lines = ["| rule | asks that | severity | also known as | sees |", "|---|---|---|---|---|", *map(_row, ALL)]
    settings = [line for rule in ALL for line in _settings(rule)]
    if settings:
        lines += ["", "| rule | setting | type | default | meaning |", "|---|---|---|---|---|", *settings]
    return "\n".join(lines) + "\n"


def _row(rule: Policy) -> str:
    known_as = [tag for tag in rule.tags or () if tag.startswith("CKV")]
    if rule.framework:
        parts = (rule.framework.name, rule.framework.version, rule.framework.reference)
        known_as.insert(0, " ".join(part for part in parts if part))
    sees = "the whole stack" if isinstance(rule, StackValidationPolicy) else "each resource"
    severity = rule.severity.value if rule.severity else ""
    return f"| `{rule.name}` | {rule.description} | {severity} | {', '.join(known_as)} | {sees} |"


def _settings(rule: Policy) -> Iterator[str]:
    schemas: dict[str, dict[str, Any]] = rule.config_schema.properties if rule.config_schema else {}
    for name, schema in schemas.items():
        default = json.dumps(schema["default"])
        yield f"| `{rule.name}` | `{name}` | {schema['type']} | `{default}` | {schema['description']} |"
