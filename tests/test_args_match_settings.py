"""The settings of a section and the plain part of its component's args have the same fields."""

import typing
from types import UnionType
from typing import Any, Union, get_args, get_origin

import pytest
from pydantic import BaseModel
from typing_extensions import get_type_hints, is_typeddict

from components.base.layer import BaseSettings
from components.compute.layer import ComputeSettings
from components.platform.layer import PlatformSettings
from components.workloads.layer import WorkloadSettings
from settings import Settings

PARTS: dict[str, Any] = {
    **get_type_hints(BaseSettings),
    **get_type_hints(ComputeSettings),
    **get_type_hints(PlatformSettings),
    **get_type_hints(WorkloadSettings),
}


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The model at the heart of an annotation, through maps, unions and Annotated."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := model_in(part))), None)


def typed_dict_in(annotation: Any) -> Any:
    if is_typeddict(annotation):
        return annotation
    if get_origin(annotation) in (Union, UnionType) or get_args(annotation):
        return next((found for part in get_args(annotation) if (found := typed_dict_in(part))), None)
    return None


def mismatches(model: type[BaseModel], args: Any, path: str) -> list[str]:
    fields, hints = set(model.model_fields), get_type_hints(args)
    found = [f"{path}: only in settings: {name}" for name in sorted(fields - hints.keys())]
    found += [f"{path}: only in args: {name}" for name in sorted(hints.keys() - fields)]
    for name in sorted(fields & hints.keys()):
        inner = model_in(model.model_fields[name].annotation)
        if inner:
            nested = typed_dict_in(hints[name])
            found += mismatches(inner, nested, f"{path}.{name}") if nested else [f"{path}.{name}: not nested in args"]
    return found


@pytest.mark.parametrize("section", sorted(PARTS))
def test_args_have_exactly_the_fields_of_their_section(section: str):
    model = model_in(Settings.model_fields[section].annotation)
    assert model is not None
    assert mismatches(model, typed_dict_in(PARTS[section]), section) == []


def test_every_section_but_those_of_the_whole_stack_reaches_a_layer():
    assert set(PARTS) == set(Settings.model_fields) - {"aws", "charts", "data_protection"}


def test_a_missing_field_is_found():
    class Few(typing.TypedDict):
        key_arn: str

    model = model_in(Settings.model_fields["encryption"].annotation)
    assert model is not None
    assert mismatches(model, Few, "encryption") == ["encryption: only in settings: deletion_window_days"]
