"""Mistakes in a stack's config and the words for them: key, given value, rule, way out."""

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from schema.fields import Section

NAMESPACE = "eksai"
"""Every key of the settings begins with it."""


@dataclass(frozen=True)
class Problem:
    """One mistake in a stack's config."""

    key: str
    """Where: `eksai:nodePools.gpu.limits`."""
    given: str
    """The value as it stands there, empty when nothing does."""
    rule: str
    """What holds for this key."""
    fix: str
    """The way out."""

    def __str__(self) -> str:
        lines = [self.key, f"  rule   {self.rule}", f"  do     {self.fix}"]
        if self.given:
            lines.insert(1, f"  given  {self.given}")
        return "\n".join(lines)


PLACEHOLDER = "CHANGEME"


def unfilled(path: str, raw: Any) -> Iterator[Problem]:
    """A placeholder that nobody has filled in, wherever it stands."""
    if isinstance(raw, dict):
        for key, value in raw.items():  # pyright: ignore[reportUnknownVariableType]
            yield from unfilled(f"{path}.{key}", value)
    elif isinstance(raw, list):
        for index, value in enumerate(raw):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from unfilled(f"{path}[{index}]", value)
    elif isinstance(raw, str) and PLACEHOLDER in raw:
        yield Problem(path, PLACEHOLDER, "a placeholder is not a value", "fill in yours")


def suggest(name: str, known: list[str], prefix: str = "") -> str:
    """The way out of an unknown key: the known one that it resembles, and what there is.

    Args:
        name: the unknown key.
        known: keys that there are.
        prefix: what stands before each of them.
    """
    near = difflib.get_close_matches(name, known, n=1)
    listed = f"known here: {', '.join(sorted(known))}"
    if not near:
        return f"remove it; {listed}"
    question = f"did you mean {prefix}{near[0]}?"
    return f"{question} {listed}" if len(known) <= _FEW else question


_FEW = 6
"""So many keys can be listed beside a suggestion without drowning it."""


def explain(key: str, section: Any, detail: ErrorDetails) -> Problem:
    """A pydantic error in our words."""
    location = detail["loc"]
    path = key + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location if part != "[key]")
    context = detail.get("ctx", {})
    given = json.dumps(detail["input"], default=str)
    given = "" if given in ("{}", "null") or len(given) > 60 else given
    match detail["type"]:
        case "eksai":
            return Problem(path, given, context["rule"], context["fix"])
        case "extra_forbidden":
            known = _known_keys(section, location[:-1])
            return Problem(path, given, "not a setting", suggest(str(location[-1]), known))
        case "missing":
            return Problem(path, "", "required", _description(section, location))
        case "string_type":
            text = json.dumps(detail["input"])
            return Problem(path, given, "a text", f'quote it: "{text}"')
        case "literal_error":
            return Problem(path, given, f"one of {context['expected']}", _choose(detail["input"], context["expected"]))
        case "model_type" | "dict_type":
            known = _known_keys(section, location)
            fix = (
                f"write {location[-1]}: {{...}} with keys of {', '.join(known)}"
                if known and location
                else "indent the keys below it"
            )
            return Problem(path, given, "a mapping of keys to values", fix)
        case "tuple_type":
            return Problem(path, given, "a list", f"write [{detail['input']}]")
        case "too_short":
            return Problem(path, given, f"at least {context['min_length']} of them", _description(section, location))
        case "too_long":
            return Problem(path, given, f"at most {context['max_length']} of them", _description(section, location))
        case "greater_than_equal":
            return Problem(path, given, f"at least {context['ge']}", _description(section, location))
        case "less_than_equal":
            return Problem(path, given, f"at most {context['le']}", _description(section, location))
        case "int_type" | "int_parsing" | "int_from_float":
            return Problem(path, given, "a whole number", "write digits only")
        case "bool_type" | "bool_parsing":
            return Problem(path, given, "true or false", "write one of the two")
        case _:
            return Problem(path, given, detail["msg"], _description(section, location))


def _choose(given: object, expected: str) -> str:
    """The way out of a value that is none of those allowed."""
    if not isinstance(given, str):
        return "choose one of these, quoted" if expected.startswith("'") else "choose one of these"
    near = difflib.get_close_matches(given, expected.replace("'", "").replace(" or ", ", ").split(", "), n=1)
    return f"did you mean {near[0]}?" if near else "choose one of these"


def explain_all(key: str, section: Any, details: list[ErrorDetails]) -> list[Problem]:
    """Every error of a section in our words, without those that merely follow from another.

    Args:
        key: the section's key, `eksai:nodePools`.
        section: the annotation that describes it.
        details: what pydantic found.
    """
    # A list whose only entry is wrong also counts as too short: told once, at the entry.
    inner = {detail["loc"][:-1] for detail in details}
    return [
        explain(key, section, detail)
        for detail in details
        if not (detail["type"] == "too_short" and detail["loc"] in inner)
    ]


def _section_at(section: Any, location: tuple[int | str, ...]) -> type[Section] | None:
    """The model that describes the mapping at a place below an annotation."""
    model = _model_in(section)
    for part in location:
        if model is None:
            return None
        # A name that is no field is the key of a map or the index of a list: the same model describes its values.
        field = model.model_fields.get(_field_of(model, str(part)))
        model = _model_in(field.annotation) if field else model
    return model


def _model_in(annotation: Any) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    models = (_model_in(argument) for argument in get_args(annotation))
    return next((model for model in models if model), None)


def _field_of(model: type[Section], alias: str) -> str:
    return next((name for name in model.model_fields if to_camel(name) == alias), alias)


def _known_keys(section: Any, location: tuple[int | str, ...]) -> list[str]:
    model = _section_at(section, location)
    return [to_camel(name) for name in model.model_fields] if model else []


def _description(section: Any, location: tuple[int | str, ...]) -> str:
    model = _section_at(section, location[:-1])
    field = model.model_fields.get(_field_of(model, str(location[-1]))) if model else None
    return field.description if field and field.description else "add it"
