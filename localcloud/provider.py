"""The provider that stands in for aws, eks, kubernetes and random: Pulumi's protocol over the simulated account."""

import functools
import importlib.metadata
import logging
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from localcloud import catalog, provider_config
from localcloud.account import Account
from localcloud.connections import Connections
from localcloud.construct import construct
from localcloud.eks_cluster import TOKEN as EKS_CLUSTER
from localcloud.eks_cluster import UnsupportedArgumentError
from localcloud.errors import AwsError, ControlPlaneFailed
from localcloud.identity import answer, identity_of
from localcloud.model_checks import hold_models, model_faults
from localcloud.properties import merged
from localcloud.record import restored
from localcloud.resource_type import Difference, Identity, ResourceType
from localcloud.values import from_wire, reveal, to_struct

if TYPE_CHECKING:
    from localcloud.cluster.local_cluster import LocalCluster

log = logging.getLogger(__name__)

Context = grpc.ServicerContext
PACKAGES = ("aws", "eks", "kubernetes", "random")
"""The packages whose providers it stands in for; for kubernetes only where there is no real cluster."""


def _logged(method: Callable[..., Any]) -> Callable[..., Any]:
    """Writes one line a call: method, type, name, outcome; never a value. Refusals become the engine's errors."""

    @functools.wraps(method)
    def call(self: "Provider", request: Any, context: Context) -> Any:
        what = getattr(request, "type", "") or getattr(request, "tok", "") or getattr(request, "urn", "")
        line = f"{method.__name__} {what} {getattr(request, 'name', '')}".rstrip()
        try:
            response = method(self, request, context)
        except AwsError as refusal:
            log.warning("%s: refused, %s", line, refusal.code)
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(refusal))
        except UnsupportedArgumentError as refusal:
            log.warning("%s: refused, not modelled", line)
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(refusal))
        except grpc.RpcError as failure:
            # The engine has reported the failed child itself, or was interrupted.
            log.warning("%s: refused by the engine", line)
            context.abort(failure.code(), failure.details() or "")  # pyright: ignore[reportAttributeAccessIssue]
        except Exception:
            log.exception("%s: failed", line)
            raise
        log.info("%s: %s", line, "invalid" if getattr(response, "failures", ()) else "ok")
        return response

    return call


class Provider(provider_pb2_grpc.ResourceProviderServicer):
    """Answers engines, several at a time.

    Args:
        account: what exists.
        cluster: the account's cluster where it is a real one.
    """

    def __init__(self, account: Account, cluster: "LocalCluster | None" = None) -> None:
        self._account = account
        self._cluster = cluster
        self._connections = Connections()

    # The provider itself

    def Handshake(self, request: Any, context: Context) -> provider_pb2.ProviderHandshakeResponse:
        # Without accept_resources a reference arrives as the id of what it refers to.
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True)

    def Attach(self, request: Any, context: Context) -> Empty:
        return Empty()

    def Cancel(self, request: Any, context: Context) -> Empty:
        return Empty()

    def GetPluginInfo(self, request: Any, context: Context) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=_newest_version())

    def GetSchema(self, request: Any, context: Context) -> provider_pb2.GetSchemaResponse:
        return provider_pb2.GetSchemaResponse(schema="{}")

    def GetMapping(self, request: Any, context: Context) -> provider_pb2.GetMappingResponse:
        return provider_pb2.GetMappingResponse()

    def GetMappings(self, request: Any, context: Context) -> provider_pb2.GetMappingsResponse:
        return provider_pb2.GetMappingsResponse()

    @_logged
    def CheckConfig(self, request: provider_pb2.CheckRequest, context: Context) -> provider_pb2.CheckResponse:
        package = provider_config.package_of(request.type)
        failures = provider_config.faults(package, from_wire(request.news))
        return provider_pb2.CheckResponse(
            inputs=request.news,
            failures=[provider_pb2.CheckFailure(property=where, reason=reason) for where, reason in failures],
        )

    @_logged
    def DiffConfig(self, request: provider_pb2.DiffRequest, context: Context) -> provider_pb2.DiffResponse:
        package = provider_config.package_of(request.type)
        return _diff(provider_config.differences(package, from_wire(request.old_inputs), from_wire(request.news)))

    @_logged
    def Configure(self, request: provider_pb2.ConfigureRequest, context: Context) -> provider_pb2.ConfigureResponse:
        package = provider_config.package_of(request.type)
        configuration = from_wire(request.args)
        identity = identity_of(configuration)
        if package == "aws":
            self._account.settle(identity.account_id)
        self._connections.configure(context.peer(), package, identity)
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    # Functions

    @_logged
    def Invoke(self, request: provider_pb2.InvokeRequest, context: Context) -> provider_pb2.InvokeResponse:
        answered = answer(request.tok, self._identity(request.tok, context))
        if answered is None:
            raise AwsError("UnknownFunction", f"the local cloud has no answer to {request.tok}")
        # `return` is a keyword of Python, and the name of the field.
        return provider_pb2.InvokeResponse(**{"return": to_struct(answered)})  # pyright: ignore[reportArgumentType]

    @_logged
    def Call(self, request: provider_pb2.CallRequest, context: Context) -> provider_pb2.CallResponse:
        raise AwsError("UnknownMethod", f"the local cloud has no method {request.tok}: use the resource's outputs")

    # Resources

    @_logged
    def Construct(self, request: provider_pb2.ConstructRequest, context: Context) -> provider_pb2.ConstructResponse:
        if request.type != EKS_CLUSTER:
            raise AwsError("UnknownType", f"the local cloud knows no component {request.type}, only {EKS_CLUSTER}")
        return construct(request, self._identity("aws", context).partition)

    @_logged
    def Check(self, request: provider_pb2.CheckRequest, context: Context) -> provider_pb2.CheckResponse:
        declared = self._declared(request.type)
        inputs, failures = declared.check(
            from_wire(request.news),
            request.name,
            from_wire(request.olds) or None,
            self._identity(request.type, context),
            request.randomSeed,
        )
        failures = failures or list(model_faults(declared, inputs))
        return provider_pb2.CheckResponse(
            inputs=to_struct(inputs),
            failures=[provider_pb2.CheckFailure(property=where, reason=reason) for where, reason in failures],
        )

    @_logged
    def Diff(self, request: provider_pb2.DiffRequest, context: Context) -> provider_pb2.DiffResponse:
        declared = self._declared(request.type)
        old, new, outputs = from_wire(request.old_inputs), from_wire(request.news), from_wire(request.olds)
        found = declared.differences(old, new)
        if declared.tagged:
            # Also when only the provider's default tags changed.
            tags = declared.tags_all(new, self._identity(request.type, context))
            if reveal(outputs.get("tagsAll")) != reveal(tags):
                found.append(Difference("tagsAll", "update", replaces=False))
        return _diff(found, must_go_first=declared.must_go_first(request.name, old, new))

    @_logged
    def Create(self, request: provider_pb2.CreateRequest, context: Context) -> provider_pb2.CreateResponse:
        declared = self._declared(request.type)
        identity = self._identity(request.type, context)
        inputs = from_wire(request.properties)
        if request.preview:
            _, outputs = declared.computed(inputs, identity, None)
            return provider_pb2.CreateResponse(properties=to_struct(outputs))
        hold_models(declared, inputs)
        if declared.stored:
            created_id, outputs = self._account.create(request.type, request.name, inputs, identity)
            try:
                self._cluster_follows(request.type)
            except ControlPlaneFailed as failure:
                self._account.delete(request.type, created_id, identity)
                raise AwsError("InternalFailure", str(failure)) from failure
        else:
            created_id, outputs = declared.computed(inputs, identity, secrets.token_hex(32))
        return provider_pb2.CreateResponse(id=str(created_id), properties=to_struct(outputs))

    @_logged
    def Read(self, request: provider_pb2.ReadRequest, context: Context) -> provider_pb2.ReadResponse:
        if not self._declared(request.type).stored:
            return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)
        record = self._account.get(request.type, request.id, self._identity(request.type, context))
        if record is None:
            return provider_pb2.ReadResponse()
        return provider_pb2.ReadResponse(
            id=record.id,
            properties=to_struct(restored(record.outputs, from_wire(request.properties))),
            inputs=to_struct(restored(record.inputs, from_wire(request.inputs))),
        )

    @_logged
    def Update(self, request: provider_pb2.UpdateRequest, context: Context) -> provider_pb2.UpdateResponse:
        inputs = from_wire(request.news)
        declared = self._declared(request.type)
        if not request.preview:
            hold_models(declared, inputs)
        identity = self._identity(request.type, context)
        # A preview asks AWS for nothing, so it does not notice that something is gone.
        unseen = request.preview and self._account.get(request.type, request.id, identity) is None
        if declared.stored and not unseen:
            outputs = self._account.update(request.type, request.id, inputs, identity, preview=request.preview)
        else:
            outputs = merged(from_wire(request.olds), inputs)
        return provider_pb2.UpdateResponse(properties=to_struct(outputs))

    @_logged
    def Delete(self, request: provider_pb2.DeleteRequest, context: Context) -> Empty:
        if self._declared(request.type).stored:
            self._account.delete(request.type, request.id, self._identity(request.type, context))
            self._cluster_follows(request.type)
        return Empty()

    def _cluster_follows(self, token: str) -> None:
        if self._cluster is not None:
            self._cluster.follow(token)

    def _identity(self, token: str, context: Context) -> Identity:
        return self._connections.identity(context.peer(), provider_config.package_of(token))

    def _declared(self, token: str) -> ResourceType:
        declared = catalog.find(token)
        if declared is None:
            raise AwsError(
                "UnknownType",
                f"the local cloud knows no {token}: declare it in the module of its service in localcloud",
            )
        return declared


def _diff(found: list[Difference], *, must_go_first: bool = False) -> provider_pb2.DiffResponse:
    replaces = sorted({difference.path for difference in found if difference.replaces})
    kinds: Mapping[tuple[str, bool], Any] = {
        ("add", False): provider_pb2.PropertyDiff.ADD,
        ("add", True): provider_pb2.PropertyDiff.ADD_REPLACE,
        ("delete", False): provider_pb2.PropertyDiff.DELETE,
        ("delete", True): provider_pb2.PropertyDiff.DELETE_REPLACE,
        ("update", False): provider_pb2.PropertyDiff.UPDATE,
        ("update", True): provider_pb2.PropertyDiff.UPDATE_REPLACE,
    }
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME if found else provider_pb2.DiffResponse.DIFF_NONE,
        diffs=sorted({difference.path.partition(".")[0].partition("[")[0] for difference in found}),
        replaces=replaces,
        deleteBeforeReplace=bool(replaces) and must_go_first,
        hasDetailedDiff=True,
        detailedDiff={
            difference.path: provider_pb2.PropertyDiff(
                kind=kinds[difference.kind, difference.replaces], inputDiff=difference.path != "tagsAll"
            )
            for difference in found
        },
    )


@functools.cache
def _newest_version() -> str:
    """The engine does not say which provider it asks about, and warns of one older than a program's SDK."""
    versions = (importlib.metadata.version(f"pulumi-{package}") for package in PACKAGES)
    return max(versions, key=lambda version: [int(part) for part in version.split(".") if part.isdigit()])
