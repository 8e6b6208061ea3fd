"""A rule: a pure check over plain properties, with its metadata, as a policy of the Pulumi SDK."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    PolicyComplianceFramework,
    PolicyConfigSchema,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UnknownValueError

from .properties import Unknown, Value, at, read

# What a check yields: the text of a violation, or the unknown that keeps it from a verdict.
Verdict = str | Unknown
Config = Mapping[str, Any]


@dataclass(frozen=True)
class Resource:
    """What a check sees of a resource.

    Attributes:
        type: the type token, such as `aws:eks/cluster:Cluster`.
        name: the logical name.
        properties: in a resource rule the inputs, in a stack rule the outputs; plain, with `Unknown` inside.
    """

    type: str
    name: str
    properties: Value

    def get(self, *path: str) -> Value:
        """Returns the property below `path`, as `properties.at` does."""
        return at(self.properties, *path)


ResourceCheck = Callable[[Resource, Config], Iterable[Verdict]]


@dataclass(frozen=True)
class StackResource(Resource):
    """What a stack rule sees of a resource.

    Attributes:
        urn: the resource's URN.
        sources: for each property that was computed from other resources, their URNs.
    """

    urn: str
    sources: Mapping[str, frozenset[str]]

    def refers_to(self, other: "StackResource", *path: str, identities: Sequence[str]) -> bool:
        """Tells whether a property names another resource.

        By the names themselves where both sides know them, which tells apart two resources that one value was computed
        from; else by where the value came from.

        Args:
            other: the resource that may be meant.
            path: the property of this resource that names it.
            identities: the properties of `other` that it may be named by.
        """
        value = self.get(*path)
        names = [name for name in map(other.get, identities) if isinstance(name, str)]
        if value is None or (isinstance(value, str) and names):
            return value in names
        return other.urn in self.sources.get(path[0], frozenset())

    def is_given(self, property_name: str) -> bool:
        """Tells whether the program set a property, as opposed to the provider announcing that it will compute it.

        In a preview both are unknown; only what the program computed has sources.
        """
        value = self.get(property_name)
        return bool(self.sources.get(property_name)) if isinstance(value, Unknown) else value is not None


# A stack check yields each verdict with the resource that it is about.
StackCheck = Callable[[Sequence[StackResource], Config], Iterable[tuple[StackResource, Verdict]]]


def resource_rule(
    check: ResourceCheck,
    *,
    name: str,
    description: str,
    judges: Collection[str],
    severity: Severity,
    remediation: str,
    standard: PolicyComplianceFramework | None = None,
    tags: Sequence[str] = (),
    config: Mapping[str, Mapping[str, Any]] | None = None,
) -> ResourceValidationPolicy:
    """Makes a policy that judges one resource at a time, by its inputs and before it is created.

    Args:
        check: yields the verdicts on one resource. All known violations are reported before the first unknown ends
            the run, so a check may yield them in any order.
        name: the rule's name in reports and in policy configuration.
        description: the rule in one sentence; it begins every report.
        judges: the type tokens of the resources that `check` gets to see.
        severity: how much harm a violation does.
        remediation: what to do about a violation.
        standard: the benchmark and item that ask for it.
        tags: identifiers of the same check in other tools.
        config: a JSON schema for each property that policy configuration may set.
    """

    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        if args.resource_type not in judges:
            return
        resource = Resource(args.resource_type, args.name, read(args.props))
        unknown: Unknown | None = None
        for verdict in check(resource, args.get_config()):
            if isinstance(verdict, Unknown):
                unknown = unknown or verdict
            else:
                report(verdict, None)
        if unknown is not None:
            raise unknown.error

    return ResourceValidationPolicy(
        name=name,
        description=description,
        validate=validate,
        enforcement_level=EnforcementLevel.MANDATORY,
        severity=severity,
        remediation_steps=remediation,
        framework=standard,
        tags=list(tags),
        config_schema=_schema(config),
    )


def stack_rule(
    check: StackCheck,
    *,
    name: str,
    description: str,
    severity: Severity,
    remediation: str,
    standard: PolicyComplianceFramework | None = None,
    tags: Sequence[str] = (),
    config: Mapping[str, Mapping[str, Any]] | None = None,
) -> StackValidationPolicy:
    """Makes a policy that judges resources by each other, once all are registered. Arguments: see `resource_rule`."""

    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        resources = [_stack_resource(resource) for resource in args.resources]
        unknown: UnknownValueError | None = None
        for resource, verdict in check(resources, args.get_config()):
            if isinstance(verdict, str):
                report(verdict, resource.urn)
            elif unknown is None:
                # The SDK's report on a stack rule names no resource, so the path has to.
                error = verdict.error
                unknown = UnknownValueError(error.unknown_type_sentinel, [resource.name, *error.props])
        if unknown is not None:
            raise unknown

    return StackValidationPolicy(
        name=name,
        description=description,
        validate=validate,
        enforcement_level=EnforcementLevel.MANDATORY,
        severity=severity,
        remediation_steps=remediation,
        framework=standard,
        tags=list(tags),
        config_schema=_schema(config),
    )


def _schema(config: Mapping[str, Mapping[str, Any]] | None) -> PolicyConfigSchema | None:
    if config is None:
        return None
    return PolicyConfigSchema(properties={key: dict(schema) for key, schema in config.items()})


def _stack_resource(resource: PolicyResource) -> StackResource:
    sources = {
        key: frozenset(source.urn for source in dependencies)
        for key, dependencies in resource.property_dependencies.items()
    }
    return StackResource(resource.resource_type, resource.name, read(resource.props), resource.urn, sources)
