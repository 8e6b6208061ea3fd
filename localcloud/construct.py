"""Registers what `eks:index:Cluster` stands for with the engine, as the real component's provider does."""

from collections.abc import Mapping, Sequence

import grpc
from pulumi.runtime.proto import provider_pb2, resource_pb2, resource_pb2_grpc

from localcloud.eks_cluster import expand
from localcloud.expansion import Child, Expansion, Registered, resolve, urns
from localcloud.provider_config import package_of
from localcloud.values import UNKNOWN, from_wire, to_struct

Urns = Mapping[str, Sequence[str]]


def construct(request: provider_pb2.ConstructRequest, partition: str) -> provider_pb2.ConstructResponse:
    """Registers the component and its children.

    Args:
        request: the engine's.
        partition: AWS partition of the children's provider.

    Raises:
        UnsupportedArgumentError: an argument has children that are not modelled.
        grpc.RpcError: the engine refused a registration.
    """
    origins = {name: list(found.urns) for name, found in request.inputDependencies.items()}
    expansion = expand(request.name, from_wire(request.inputs), origins, partition)
    with grpc.insecure_channel(request.monitorEndpoint) as channel:
        return _Registrar(request, resource_pb2_grpc.ResourceMonitorStub(channel)).register(expansion)


class _Registrar:
    def __init__(self, request: provider_pb2.ConstructRequest, monitor: resource_pb2_grpc.ResourceMonitorStub) -> None:
        self._request = request
        self._monitor = monitor
        self._registered: dict[str, Registered] = {}

    def register(self, expansion: Expansion) -> provider_pb2.ConstructResponse:
        request = self._request
        component = self._monitor.RegisterResource(
            resource_pb2.RegisterResourceRequest(
                type=request.type,
                name=request.name,
                parent=request.parent,
                custom=False,
                dependencies=request.dependencies,
                providers=request.providers,
                protect=request.protect,
                aliases=request.aliases,
                aliasSpecs=True,
                deletedWith=request.deletedWith,
                ignoreChanges=request.ignoreChanges,
                replaceOnChanges=request.replaceOnChanges,
                retainOnDelete=request.retainOnDelete,
                acceptSecrets=True,
                acceptResources=True,
            )
        )
        for child in expansion.children:
            self._register_child(child, component.urn)
        for child in expansion.children:
            if not child.custom:
                self._finish(self._registered[child.name].urn, resolve(child.outputs, self._registered))
        outputs = expansion.outputs(self._registered)
        self._finish(component.urn, outputs)
        return provider_pb2.ConstructResponse(
            urn=component.urn,
            state=to_struct(outputs),
            stateDependencies={
                name: provider_pb2.ConstructResponse.PropertyDependencies(urns=urns(origins, self._registered))
                for name, origins in expansion.output_dependencies.items()
            },
        )

    def _register_child(self, child: Child, component_urn: str) -> None:
        registered = self._registered
        answer = self._monitor.RegisterResource(
            resource_pb2.RegisterResourceRequest(
                type=child.type,
                name=child.name,
                parent=registered[child.parent_name].urn if child.parent_name else component_urn,
                custom=child.custom,
                object=to_struct(resolve(child.inputs, registered)),
                provider=self._request.providers.get(package_of(child.type), ""),
                dependencies=urns(child.dependencies, registered),
                propertyDependencies={
                    name: resource_pb2.RegisterResourceRequest.PropertyDependencies(urns=urns(origins, registered))
                    for name, origins in child.property_dependencies.items()
                },
                ignoreChanges=child.ignore_changes,
                version=child.version,
                supportsPartialValues=True,
                acceptSecrets=True,
                acceptResources=True,
            )
        )
        # An empty id is one that creation will decide.
        child_id = (answer.id or UNKNOWN) if child.custom else None
        registered[child.name] = Registered(answer.urn, child_id, from_wire(answer.object))

    def _finish(self, urn: str, outputs: Mapping[str, object]) -> None:
        self._monitor.RegisterResourceOutputs(
            resource_pb2.RegisterResourceOutputsRequest(urn=urn, outputs=to_struct(outputs))
        )
