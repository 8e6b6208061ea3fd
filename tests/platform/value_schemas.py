"""Schemas of charts' values, for values without those of the chart."""

import json
from typing import Any


def optional(schema: bytes) -> bytes:
    """A schema that misses nothing: what a chart requires stands in its own values, which Helm adds before it judges.

    Args:
        schema: JSON Schema.
    """
    return json.dumps(_without_required(json.loads(schema))).encode()


def _without_required(schema: Any) -> Any:
    match schema:
        case dict():
            # A property may be called `required` too; then it is no list.
            kept = {key: item for key, item in schema.items() if key != "required" or not isinstance(item, list)}
            return {key: _without_required(item) for key, item in kept.items()}
        case list():
            return [_without_required(item) for item in schema]
        case _:
            return schema
