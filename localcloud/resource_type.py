"""How one type of resource is declared: what its provider checks, makes up, compares and refuses.

A declaration is data (required arguments, templates, replacing properties, references, uniqueness) with functions
only where a rule has no common form. `localcloud.catalog` collects the declarations.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from localcloud.declaration import (
    Api,
    AutoName,
    Failure,
    Identity,
    OnDelete,
    Owned,
    PolicyKind,
    Properties,
    Refers,
    Scope,
    Unique,
)
from localcloud.policy_document import syntax_fault
from localcloud.properties import changes, merged, value_at, values_at, without_none
from localcloud.templates import Draws, render
from localcloud.values import UNKNOWN, Secret, Unknown, contains_unknown, reveal

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

__all__ = [
    "Api",
    "AutoName",
    "Check",
    "Difference",
    "Failure",
    "Identity",
    "OnDelete",
    "Owned",
    "PolicyKind",
    "Properties",
    "Refers",
    "ResourceType",
    "Scope",
    "Unique",
]


class Difference(NamedTuple):
    """One changed property: `kind` is add, delete or update."""

    path: str
    kind: str
    replaces: bool


Check = Callable[[Properties, Identity], Iterable[Failure]]
AccountRule = Callable[["Account", "Record"], None]
AccountFact = Callable[["Account", "Record"], bool]


@dataclass(frozen=True)
class ResourceType:
    """The declaration of a type.

    Attributes:
        token: its Pulumi type token.
        id: template of the id.
        outputs: templates of what the provider computes; laid over the inputs.
        defaults: values of arguments left out, as AWS reports them.
        required: arguments that must be given; `a|b` asks for exactly one of two.
        auto_name: the physical name that is made up when none is given.
        replaces: paths whose change AWS can only follow with a new resource.
        unordered: paths of lists that AWS treats as sets.
        checks: rules on the arguments alone; each leaves unknown values out.
        refers: the resources it names.
        unique: what must be its own.
        api: AWS's own model of the arguments; None where there is none.
        policies: arguments that are policy documents, with what they are attached to.
        owns: what is made along with it.
        admits: rules of the account, held at creation and update; they raise `AwsError`.
        releases: rules of the account, held at deletion.
        lingers: whether AWS keeps it for a while after its deletion, its id and name taken.
        remade: whether AWS makes it anew, without the arguments, once it is deleted.
        counts: outputs that every update raises by one.
        scope: within what ids and unique properties are its own.
        tagged: whether it can carry tags.
        stored: whether the account holds it; what is only computed (random values) is not stored.
        secret_outputs: outputs that are always secret.
    """

    token: str
    id: str | Callable[[Properties, Draws], Any]
    outputs: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    auto_name: AutoName | None = None
    replaces: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    api: Api | None = None
    policies: Mapping[str, PolicyKind] = field(default_factory=dict)
    refers: tuple[Refers, ...] = ()
    unique: tuple[Unique, ...] = ()
    owns: tuple[Owned, ...] = ()
    admits: tuple[AccountRule, ...] = ()
    releases: tuple[AccountRule, ...] = ()
    lingers: AccountFact | None = None
    remade: AccountFact | None = None
    counts: tuple[str, ...] = ()
    scope: Scope = Scope.REGION
    tagged: bool = False
    stored: bool = True
    secret_outputs: tuple[str, ...] = ()

    def scope_of(self, identity: Identity) -> str:
        """Returns the name of the room in which its id is its own."""
        return {
            Scope.ACCOUNT: "account",
            Scope.REGION: identity.region,
            Scope.CLUSTER: identity.cluster,
        }[self.scope]

    def check(
        self,
        inputs: Properties,
        name: str,
        previous: Properties | None,
        identity: Identity,
        random_seed: bytes = b"",
    ) -> tuple[dict[str, Any], list[Failure]]:
        """Checks arguments as the provider does before anything is made, so that a preview shows what is wrong.

        Args:
            inputs: the arguments, possibly with unknowns.
            name: logical name of the resource.
            previous: the arguments of the last deployment, None for a new resource.
            identity: where it will be made.
            random_seed: the engine's; decides the made-up name.

        Returns:
            The arguments with the made-up name, and what is wrong with them.
        """
        checked = without_none(inputs)
        if self.auto_name and value_at(checked, self.auto_name.path) is None:
            kept = value_at(previous or {}, self.auto_name.path)
            made_up = kept if self.auto_name.made(kept, name) else self.auto_name.name(name, random_seed)
            checked = merged(checked, _nested(self.auto_name.path, made_up))
        failures = [*self._missing(checked)]
        if not failures:
            failures = [failure for check in self.checks for failure in check(checked, identity)]
            failures += [*self._malformed(checked)]
        return checked, failures

    def documents(self, inputs: Properties) -> Iterator[tuple[str, PolicyKind, Any]]:
        """Yields the policy documents among arguments that are known: where, for what, and the text."""
        for path, kind in self.policies.items():
            for text in values_at(inputs, path):
                if not contains_unknown(text):
                    yield path, kind, text

    def _malformed(self, inputs: Properties) -> Iterator[Failure]:
        for path, kind, text in self.documents(inputs):
            if fault := syntax_fault(text, kind):
                yield Failure(path, fault)

    def _missing(self, inputs: Properties) -> Iterator[Failure]:
        for required in self.required:
            alternatives = required.split("|")
            given = [path for path in alternatives if value_at(inputs, path) is not None]
            if not given:
                yield Failure(alternatives[0], f"missing required argument {' or '.join(alternatives)}")
            if len(given) > 1:
                yield Failure(given[1], f"conflicts with {given[0]}: give one of {', '.join(alternatives)}")

    def computed(
        self,
        inputs: Properties,
        identity: Identity,
        seed: str | None,
        counted: Mapping[str, int] | None = None,
    ) -> tuple[str | Unknown, dict[str, Any]]:
        """Returns the id and all outputs of a resource with these arguments; the same for the same seed.

        Args:
            inputs: checked arguments.
            identity: where it is made.
            seed: what made-up values are drawn from; None in a preview, where they are unknown.
            counted: where the outputs that count updates stand; None for a new resource.
        """
        draws = Draws(seed)
        properties = merged(self.defaults, inputs)
        facts = identity.facts
        resource_id = reveal(render(self.id, properties, facts, draws))
        properties = {**properties, "id": resource_id}
        # In order: a template may use the outputs before it.
        for key, template in {**self.outputs, **(counted or {})}.items():
            properties = merged(properties, {key: render(template, properties, facts, draws)})
        if self.tagged:
            properties["tagsAll"] = self.tags_all(inputs, identity)
        for key in (key for key in self.secret_outputs if properties.get(key) is not None):
            properties[key] = Secret(reveal(properties[key]))
        del properties["id"]
        return resource_id, properties

    def tags_all(self, inputs: Properties, identity: Identity) -> Any:
        """Returns the provider's default tags with the resource's own over them."""
        tags = inputs.get("tags", {})
        return {**identity.default_tags, **tags} if isinstance(tags, Mapping) else UNKNOWN

    def differences(self, old: Properties, new: Properties) -> list[Difference]:
        """Compares the arguments of two deployments."""
        replacing = [
            path
            for path in self.replaces
            if any(True for _ in changes({"": values_at(old, path)}, {"": values_at(new, path)}, ("",)))
        ]
        return [
            Difference(path, kind, any(_touch(path, replaced) for replaced in replacing))
            for path, kind in changes(old, new, self.unordered)
        ]

    def must_go_first(self, name: str, old: Properties, new: Properties) -> bool:
        """Tells whether a replacement needs the old one deleted before: the program insists on one name."""
        if not self.auto_name:
            return False
        kept = value_at(new, self.auto_name.path)
        return kept == value_at(old, self.auto_name.path) and not self.auto_name.made(kept, name)


def _nested(path: str, value: Any) -> dict[str, Any]:
    for step in reversed(path.split(".")):
        value = {step: value}
    return value


def _touch(path: str, replaced: str) -> bool:
    return path == replaced or path.startswith((f"{replaced}.", f"{replaced}[")) or replaced.startswith(f"{path}.")
