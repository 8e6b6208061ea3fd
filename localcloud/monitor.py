"""The resource monitor of depth 1: it answers a Pulumi program in process, in place of engine and providers.

Ids and outputs come from `localcloud.catalog`, the children of `eks.Cluster` from `localcloud.eks_cluster`. As in
the engine, transforms reach the children of the resource that carries them, secrets stay secret, and a URN holds
the types of all parents. Properties stay plain values here and never become live resources: those would wait for
the program's event loop, which waits for the monitor.
"""

import dataclasses
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

import pulumi
from google.protobuf import empty_pb2
from pulumi.runtime import mocks
from pulumi.runtime.proto import engine_pb2, provider_pb2, resource_pb2

from localcloud import catalog, eks_cluster, identity
from localcloud.expansion import Registered, resolve, urns
from localcloud.registration import InvalidResourceError, Invocation, Registration, UnsupportedRequestError
from localcloud.resource_type import Identity
from localcloud.values import UNKNOWN, Reference, Secret, Unknown, from_wire, to_struct

STACK = "pulumi:pulumi:Stack"
_PROVIDER = "pulumi:providers:"
_GET_RESOURCE = "pulumi:pulumi:getResource"
_GET_KUBECONFIG = "eks:index:Cluster/getKubeconfig"

# Alias specs are left out on purpose: without them the SDK itself works out the URNs of all aliases.
_FEATURES = (
    resource_pb2.RESOURCE_MONITOR_FEATURE_SECRETS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_REFERENCES,
    resource_pb2.RESOURCE_MONITOR_FEATURE_DELETED_WITH,
    resource_pb2.RESOURCE_MONITOR_FEATURE_REPLACE_WITH,
    resource_pb2.RESOURCE_MONITOR_FEATURE_TRANSFORMS,
)

Answer = TypeVar("Answer", resource_pb2.ResourceInvokeResponse, provider_pb2.CallResponse)
Transform = Callable[[pulumi.ResourceTransformArgs], pulumi.ResourceTransformResult | None]


class Monitor:
    """Answers one run of one program; the method names are those of Pulumi's ResourceMonitor and Engine."""

    def __init__(self, project: str, stack: str, *, preview: bool, default_provider: Mapping[str, Any]) -> None:
        self.resources: dict[str, Registration] = {}
        self.invokes: list[Invocation] = []
        self.messages: list[tuple[str, str]] = []
        self.exports: dict[str, Any] = {}
        self._project = project
        self._stack = stack
        self._preview = preview
        self._default_provider = default_provider
        self._identities: dict[str, Identity] = {}
        self._transforms: dict[str, list[Transform]] = {"": []}

    # Engine

    def Log(self, request: engine_pb2.LogRequest) -> None:
        if request.severity != engine_pb2.DEBUG:
            self.messages.append((engine_pb2.LogSeverity.Name(request.severity).lower(), request.message))

    # ResourceMonitor

    def GetDeploymentInfo(self, _: empty_pb2.Empty) -> resource_pb2.DeploymentInfo:
        return resource_pb2.DeploymentInfo(supportedFeatures=_FEATURES)

    def SignalAndWaitForShutdown(self, _: empty_pb2.Empty) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    def RegisterStackTransform(self, callback: Any) -> empty_pb2.Empty:
        self._transforms[""] += mocks._resolve_callbacks([callback])
        return empty_pb2.Empty()

    def RegisterResource(self, request: resource_pb2.RegisterResourceRequest) -> resource_pb2.RegisterResourceResponse:
        if request.importId:
            raise UnsupportedRequestError(f"{request.type} {request.name!r} has the option import: nothing exists")
        registration = Registration(
            urn=self._urn(request.parent, request.type, request.name),
            type=request.type,
            name=request.name,
            parent=request.parent,
            custom=request.custom,
            inputs=from_wire(request.object),
            dependencies=sorted(request.dependencies),
            property_dependencies={
                key: sorted(origins.urns) for key, origins in request.propertyDependencies.items() if origins.urns
            },
            provider=_urn_of(request.provider),
            protect=request.protect if request.HasField("protect") else self._is_protected(request.parent),
            aliases=sorted(request.aliasURNs),
        )
        self._transforms[registration.urn] = mocks._resolve_callbacks(request.transforms)
        origins: Mapping[str, list[str]] = {}
        if request.remote:
            providers = {package: _urn_of(provider) for package, provider in request.providers.items()}
            registration, origins = self._construct(registration, providers)
        else:
            registration = self._register(registration, request.additionalSecretOutputs)
        return resource_pb2.RegisterResourceResponse(
            urn=registration.urn,
            # An empty id is one that is not known yet.
            id=registration.id if isinstance(registration.id, str) else "",
            object=to_struct(registration.outputs),
            propertyDependencies={
                key: resource_pb2.RegisterResourceResponse.PropertyDependencies(urns=value)
                for key, value in origins.items()
            },
        )

    def RegisterResourceOutputs(self, request: resource_pb2.RegisterResourceOutputsRequest) -> empty_pb2.Empty:
        self._finish(request.urn, from_wire(request.outputs))
        return empty_pb2.Empty()

    def ReadResource(self, request: resource_pb2.ReadResourceRequest) -> resource_pb2.ReadResourceResponse:
        raise UnsupportedRequestError(
            f"{request.type} {request.name!r} is read from an account, and there is none in process. Give its id as "
            "a plain setting, or run the program on the local cloud."
        )

    def Invoke(self, request: resource_pb2.ResourceInvokeRequest) -> resource_pb2.ResourceInvokeResponse:
        args = from_wire(request.args)
        if request.tok == _GET_RESOURCE:
            found = self.resources[args["urn"]]
            answer = {"urn": found.urn, "id": found.id or "", "state": found.outputs}
            return _returning(resource_pb2.ResourceInvokeResponse(), answer)
        provider = _urn_of(request.provider)
        self.invokes.append(Invocation(request.tok, args, provider))
        answer = identity.answer(request.tok, self._identity(provider))
        if answer is None:
            raise UnsupportedRequestError(
                f"The function {request.tok} is called, and World (localcloud/world.py) has no answer to it. Give "
                "what it would return as a setting, or add it to localcloud/identity.py."
            )
        return _returning(resource_pb2.ResourceInvokeResponse(), answer)

    def Call(self, request: resource_pb2.ResourceCallRequest) -> provider_pb2.CallResponse:
        args = from_wire(request.args)
        if request.tok != _GET_KUBECONFIG or len(args) != 1:
            raise UnsupportedRequestError(
                f"The method {request.tok} is called with {sorted(args)}, and World (localcloud/world.py) only knows "
                f"{_GET_KUBECONFIG} without options. Use the outputs of the resource."
            )
        cluster = self.resources[args["__self__"].urn]
        return _returning(provider_pb2.CallResponse(), {"result": cluster.outputs["kubeconfigJson"]})

    # What happens to a registration

    def _register(self, registration: Registration, secret_outputs: Collection[str] = ()) -> Registration:
        """Gives a resource its id and outputs and remembers it."""
        if registration.urn in self.resources:
            raise ValueError(
                f"Two resources have the URN {registration.urn}. The engine tells resources of one type and parent "
                "apart by their names: give one of them another name."
            )
        inputs = _with_ids(self._transformed(registration))
        id_: str | Unknown | None = None
        outputs = inputs
        if registration.type.startswith(_PROVIDER):
            id_ = str(uuid.uuid5(uuid.NAMESPACE_URL, registration.urn))
        elif registration.custom:
            inputs, id_, outputs = self._simulated(registration, inputs)
        if self._preview and registration.custom:
            id_ = UNKNOWN
        outputs = {
            key: Secret(value) if key in secret_outputs and not isinstance(value, Secret) else value
            for key, value in outputs.items()
        }
        done = dataclasses.replace(registration, inputs=inputs, id=id_, outputs=outputs)
        self.resources[done.urn] = done
        return done

    def _simulated(
        self, registration: Registration, inputs: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], str | Unknown, Mapping[str, Any]]:
        """The inputs, id and outputs that a provider would answer; made-up values are drawn from the URN."""
        declared = catalog.find(registration.type)
        if declared is None:
            raise UnsupportedRequestError(
                f"{registration.type} {registration.name!r} is of a type that localcloud does not know, so nothing "
                "can be said of its outputs. Declare it in the module of its service in localcloud/."
            )
        here = self._identity(registration.provider)
        checked, failures = declared.check(inputs, registration.name, None, here, random_seed=registration.urn.encode())
        if failures:
            listed = "; ".join(f"{failure.property}: {failure.reason}" for failure in failures)
            raise InvalidResourceError(f"{registration.type} {registration.name!r} is refused: {listed}")
        id_, outputs = declared.computed(checked, here, None if self._preview else registration.urn)
        return checked, id_, outputs

    def _construct(
        self, request: Registration, providers: Mapping[str, str]
    ) -> tuple[Registration, Mapping[str, list[str]]]:
        """Registers a remote component with its children; returns it and what each of its outputs comes from."""
        if request.type != eks_cluster.TOKEN:
            raise UnsupportedRequestError(
                f"{request.type} {request.name!r} is a component of another package, and World (localcloud/world.py) "
                f"only knows the children of {eks_cluster.TOKEN}."
            )
        expansion = eks_cluster.expand(
            request.name,
            self._transformed(request),
            request.property_dependencies,
            self._identity(providers.get("aws", "")).partition,
        )
        # The component itself is registered without inputs, as the real one does.
        component = self._register(dataclasses.replace(request, inputs={}, property_dependencies={}))
        registered: dict[str, Registered] = {}
        for child in expansion.children:
            parent = registered[child.parent_name].urn if child.parent_name else component.urn
            done = self._register(
                Registration(
                    urn=self._urn(parent, child.type, child.name),
                    type=child.type,
                    name=child.name,
                    parent=parent,
                    custom=child.custom,
                    inputs=resolve(child.inputs, registered),
                    dependencies=sorted(urns(child.dependencies, registered)),
                    property_dependencies={
                        key: sorted(urns(names, registered)) for key, names in child.property_dependencies.items()
                    },
                    provider=providers.get(child.type.partition(":")[0], ""),
                    protect=component.protect,
                )
            )
            registered[child.name] = Registered(done.urn, done.id, done.outputs)
        for child in expansion.children:
            if not child.custom:
                self._finish(registered[child.name].urn, resolve(child.outputs, registered))
        component = self._finish(component.urn, expansion.outputs(registered))
        return component, {key: urns(names, registered) for key, names in expansion.output_dependencies.items()}

    def _is_protected(self, parent: str) -> bool:
        """Whether a child that says nothing itself is protected: as its parent is."""
        return parent in self.resources and self.resources[parent].protect

    def _finish(self, urn: str, outputs: Mapping[str, Any]) -> Registration:
        """Sets the outputs that a component, or the stack, registers at its end."""
        done = dataclasses.replace(self.resources[urn], outputs=outputs)
        self.resources[urn] = done
        if done.type == STACK:
            self.exports = dict(sorted(outputs.items()))
        return done

    def _transformed(self, registration: Registration) -> Mapping[str, Any]:
        """The inputs after the transforms of the resource, of all its parents, and of the stack, in this order."""
        inputs = registration.inputs
        for transform in self._transforms_of(registration):
            options = pulumi.ResourceOptions()
            args = pulumi.ResourceTransformArgs(
                registration.custom, registration.type, registration.name, dict(inputs), options
            )
            result = transform(args)
            if result is None:
                continue
            if not isinstance(result, pulumi.ResourceTransformResult) or result.opts not in (None, options):
                raise UnsupportedRequestError(
                    f"A transform of {registration.type} {registration.name!r} is asynchronous or changes options. "
                    "World (localcloud/world.py) applies what a plain function does to properties."
                )
            inputs = result.props
        return inputs

    def _transforms_of(self, registration: Registration) -> Iterator[Transform]:
        yield from self._transforms.get(registration.urn, [])
        parent = registration.parent
        while parent in self.resources:
            yield from self._transforms.get(parent, [])
            parent = self.resources[parent].parent
        yield from self._transforms[""]

    def _urn(self, parent: str, type_: str, name: str) -> str:
        parent_type = parent.split("::")[2] if parent else STACK
        qualified = type_ if parent_type == STACK else f"{parent_type}${type_}"
        return f"urn:pulumi:{self._stack}::{self._project}::{qualified}::{name}"

    def _identity(self, provider: str) -> Identity:
        if provider not in self._identities:
            configuration = self.resources[provider].inputs if provider else self._default_provider
            self._identities[provider] = identity.identity_of(configuration)
        return self._identities[provider]


def _returning(response: Answer, values: Mapping[str, Any]) -> Answer:
    """Fills the response's field `return`, which no Python name can spell."""
    getattr(response, "return").CopyFrom(to_struct(values))
    return response


def _urn_of(provider_reference: str) -> str:
    """The URN in a reference to a provider, which is its URN and its id."""
    return provider_reference.rpartition("::")[0]


def _with_ids(value: Any) -> Any:
    """A value with the ids in place of references to resources, as a provider gets it that wants no references."""
    if isinstance(value, Reference):
        return value.urn if value.id is None else value.id
    if isinstance(value, Secret):
        return Secret(_with_ids(value.value))
    if isinstance(value, Mapping):
        return {key: _with_ids(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_ids(item) for item in value]
    return value
