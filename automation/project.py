"""The project on disk: where it is, which stacks it has, and what each stack's config says."""

import json
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from automation.errors import ProjectError, UnknownStack

PROJECT_FILE = "Pulumi.yaml"
SECRET_STAND_IN = "[secret]"
"""What stands for a value that is encrypted in the stack file: it is not decrypted here, nor needs to be."""


@dataclass(frozen=True)
class Project:
    """A folder with a `Pulumi.yaml` and one `Pulumi.<stack>.yaml` per stack."""

    root: Path

    @classmethod
    def find(cls, start: Path) -> "Project":
        """The project that `start` lies in: the nearest folder upwards that holds a `Pulumi.yaml`.

        Raises `ProjectError` when there is none.
        """
        start = start.resolve()
        if not start.is_dir():
            raise ProjectError(f"{start} is not a folder.")
        for folder in (start, *start.parents):
            if (folder / PROJECT_FILE).is_file():
                return cls(folder)
        raise ProjectError(
            f"No {PROJECT_FILE} in {start} or above it, so there is no project to work on.\n"
            "Change into a checkout of the project, or name one: eksai COMMAND -C DIR"
        )

    @property
    def name(self) -> str:
        """The project's name, which is also the namespace of its config."""
        name = self.settings().get("name")
        if not isinstance(name, str):
            raise ProjectError(f"{self.root / PROJECT_FILE} has no `name`.")
        return name

    @property
    def program(self) -> Path:
        """The folder of the program that makes the stacks."""
        return self.root / str(self.settings().get("main", "."))

    def settings(self) -> dict[str, Any]:
        """The content of `Pulumi.yaml`."""
        return _read_mapping(self.root / PROJECT_FILE)

    def stacks(self) -> list[str]:
        """The names of the stacks that have a file, sorted."""
        prefix, suffix = "Pulumi.", ".yaml"
        files = (path.name for path in self.root.glob(f"{prefix}*{suffix}"))
        return sorted(name.removeprefix(prefix).removesuffix(suffix) for name in files if name != PROJECT_FILE)

    def stack_file(self, stack: str) -> Path:
        """The file of a stack. Raises `UnknownStack` when there is none of that name."""
        if stack not in self.stacks():
            known = ", ".join(self.stacks()) or "none yet"
            raise UnknownStack(
                f"There is no stack '{stack}' in {self.root} (there are: {known}).\n"
                f"Name one of these, or make it: copy an existing Pulumi.<stack>.yaml to Pulumi.{stack}.yaml."
            )
        return self.root / f"Pulumi.{stack}.yaml"

    def config(self, stack: str) -> dict[str, str]:
        """A stack's config as the engine hands it to the program: full keys such as `eksai:network`, values as text.

        Objects and lists are JSON. Defaults of `Pulumi.yaml` are filled in. Encrypted values are `SECRET_STAND_IN`.
        """
        given = self._given(stack)
        return {key: _text(value) for key, value in {**self._defaults(), **given}.items()}

    def secret_keys(self, stack: str) -> frozenset[str]:
        """The config keys of a stack that hold an encrypted value, wholly or somewhere inside."""
        return frozenset(key for key, value in self._given(stack).items() if holds_secret(value))

    def _given(self, stack: str) -> dict[str, Any]:
        path = self.stack_file(stack)
        given = _mapping(_read_mapping(path).get("config"), path, "config")
        for key in given:
            if ":" not in key:
                raise ProjectError(
                    f"{path.name}: config key '{key}' has no namespace, so no program reads it.\n"
                    f"Indent it below the key that it belongs to, or write '{self.name}:{key}'."
                )
        return given

    def _defaults(self) -> dict[str, Any]:
        path = self.root / PROJECT_FILE
        return dict(_declared_defaults(_mapping(self.settings().get("config"), path, "config"), self.name))


def _declared_defaults(declared: Mapping[str, Any], namespace: str) -> Iterator[tuple[str, Any]]:
    for key, declaration in declared.items():
        full = key if ":" in key else f"{namespace}:{key}"
        if not isinstance(declaration, dict):
            yield full, declaration
            continue
        fields = cast("dict[str, Any]", declaration)
        # `value` sets a key for every stack, `default` declares one of the project's own.
        for field in ("value", "default"):
            if field in fields:
                yield full, fields[field]


class _UniqueKeys(yaml.SafeLoader):
    """Reads YAML as the engine does, which refuses a key that stands twice in one mapping."""

    def _constructed(self, node: yaml.Node) -> object:
        return cast(Any, self).construct_object(node, deep=True)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self._constructed(key_node)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark)
            if isinstance(key, Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep)


def _read_mapping(path: Path) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8") as file:
            # With the file itself, errors tell its name.
            return _mapping(yaml.load(file, _UniqueKeys), path, "the file")
    except UnicodeDecodeError as error:
        raise ProjectError(f"{path.name} is not UTF-8 text: {error}. Save it as UTF-8.") from error
    except yaml.YAMLError as error:
        raise ProjectError(f"{path.name} is not valid YAML:\n{error}") from error
    except OSError as error:
        raise ProjectError(f"{path} cannot be read: {error.strerror}.") from error


def _mapping(value: object, path: Path, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ProjectError(f"{path.name}: {what} must be a mapping of keys to values, not {type(value).__name__}.")
    return {str(key): item for key, item in cast("dict[object, Any]", value).items()}


def _text(value: object) -> str:
    plain = without_secrets(value)
    return plain if isinstance(plain, str) else json.dumps(plain, separators=(",", ":"), default=str)


def without_secrets(value: object) -> object:
    """A config value with `SECRET_STAND_IN` wherever the stack file holds an encrypted text."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        if _is_secret(fields):
            return SECRET_STAND_IN
        return {str(key): without_secrets(item) for key, item in fields.items()}
    if isinstance(value, list):
        return [without_secrets(item) for item in cast("list[object]", value)]
    return value


def holds_secret(value: object) -> bool:
    """Whether a config value is, or has somewhere inside, a text that the stack file holds encrypted."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return _is_secret(fields) or any(holds_secret(item) for item in fields.values())
    return isinstance(value, list) and any(holds_secret(item) for item in cast("list[object]", value))


def _is_secret(fields: Mapping[str, object]) -> bool:
    """The engine writes an encrypted value as a mapping with the one key `secure`."""
    return set(fields) == {"secure"} and isinstance(fields["secure"], str)
