"""The vocabulary of declarations: where things are made, and the forms that a rule can have."""

import enum
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Properties = Mapping[str, Any]


@dataclass(frozen=True)
class Identity:
    """Where a resource is made.

    Attributes:
        account_id: twelve digits.
        region: name of the region.
        default_tags: tags that the provider adds to everything that can be tagged.
        cluster: API server of the cluster that a Kubernetes object belongs to.
        caller: ARN of whoever calls; empty for a user of the account.
    """

    account_id: str
    region: str
    default_tags: Mapping[str, str] = field(default_factory=dict)
    cluster: str = ""
    caller: str = ""

    @property
    def partition(self) -> str:
        """The AWS partition that the region belongs to."""
        if self.region.startswith("cn-"):
            return "aws-cn"
        return "aws-us-gov" if self.region.startswith("us-gov-") else "aws"

    @property
    def facts(self) -> dict[str, str]:
        """What a template may ask for beside the resource's own properties."""
        suffix = "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com"
        return {
            "partition": self.partition,
            "account": self.account_id,
            "region": self.region,
            "dns_suffix": suffix,
            "cluster": self.cluster,
        }


class Failure(NamedTuple):
    """A refused argument: the property and what is wrong with it."""

    property: str
    reason: str


class Scope(enum.Enum):
    """Within what an id and a unique name are one's own."""

    ACCOUNT = "account"
    REGION = "region"
    CLUSTER = "cluster"


class OnDelete(enum.Enum):
    """What becomes of a referring resource when the one it refers to is to be deleted."""

    REFUSE = "refuse"
    """The deletion is refused."""
    CASCADE = "cascade"
    """It disappears along, like the policy of a bucket."""
    IGNORE = "ignore"
    """It stays, referring to nothing."""


@dataclass(frozen=True)
class Refers:
    """A property that names other resources.

    Attributes:
        path: where the names are.
        to: type token of the others.
        by: properties of the others that the name may be, `id` among them.
        error: AWS's error code when there is no such resource.
        on_delete: what the reference means for the deletion of the other.
        in_use: AWS's error code when that deletion is refused.
        within: property that both must share, where a name is one's own only within something.
        external: pattern of names that are not in this account (such as AWS's own policies) and not looked up.
    """

    path: str
    to: str
    error: str
    by: tuple[str, ...] = ("id",)
    on_delete: OnDelete = OnDelete.REFUSE
    in_use: str = "DependencyViolation"
    within: str = ""
    external: str | None = None


@dataclass(frozen=True)
class Unique:
    """Properties that no two resources of a type may share.

    Attributes:
        paths: the properties, together; a resource that has none of them is not held to it.
        error: AWS's error code.
        message: AWS's text, a template over the resource's properties.
    """

    paths: tuple[str, ...]
    error: str
    message: str


@dataclass(frozen=True)
class AutoName:
    """A physical name that the provider makes up, when the program gives none, from the logical one.

    Attributes:
        path: the property.
        longest: how many characters AWS allows.
        prefix: text before it.
        lower: whether AWS wants lower case.
    """

    path: str = "name"
    longest: int = 64
    prefix: str = ""
    lower: bool = False

    def name(self, logical: str, random_seed: bytes) -> str:
        """Returns the logical name with 7 hexadecimal digits, as the real provider does."""
        stem = (logical.lower() if self.lower else logical)[: self.longest - 8 - len(self.prefix)]
        return f"{self.prefix}{stem}-{hashlib.sha256(random_seed or logical.encode()).hexdigest()[:7]}"

    def made(self, name: Any, logical: str) -> bool:
        """Tells whether a name looks made up here, and so may be made up anew."""
        return isinstance(name, str) and bool(
            re.fullmatch(re.escape(self.name(logical, b"")[:-7]) + "[0-9a-f]{7}", name)
        )


@dataclass(frozen=True)
class Owned:
    """Another resource that AWS makes along with one and deletes with it.

    Attributes:
        token: its type.
        id: template of its id, over the owner's properties.
        inputs: templates of its inputs.
        when: property without which it is not made; empty for always.
        outlives: whether it stays when its owner goes, a thing of nobody's.
    """

    token: str
    id: str
    inputs: Mapping[str, Any]
    when: str = ""
    outlives: bool = False


@dataclass(frozen=True)
class Api:
    """Where AWS's own service model describes a type's arguments.

    Attributes:
        service: name of the service in botocore.
        shape: name of an operation, whose input is meant, or of a shape.
        names: the API's name of an argument (`subnetIds` of `vpcConfig` is `vpcConfig.subnetIds`), where it is more
            than another case; an empty one marks an argument of the provider's own, or of another operation.
        supplied: required members that the provider fills in by itself.
    """

    service: str
    shape: str
    names: Mapping[str, str] = field(default_factory=dict)
    supplied: tuple[str, ...] = ()


class PolicyKind(enum.Enum):
    """What a policy document is attached to, with AWS's limit in characters."""

    TRUST = ("trust", 2048)
    MANAGED = ("managed", 6144)
    INLINE = ("inline", 10240)
    """All inline policies of a role together."""
    BUCKET = ("bucket", 20480)
    QUEUE = ("queue", 262144)
    KEY = ("key", 32768)
    REPOSITORY = ("repository", 10240)
    SECRET = ("secret", 20480)
    ENDPOINT = ("endpoint", 20480)
    FILE_SYSTEM = ("file system", 20000)

    @property
    def limit(self) -> int:
        """How many characters AWS allows."""
        return self.value[1]

    @property
    def names_principal(self) -> bool:
        """Whether it is a resource's policy, whose statements say who; that of an identity must not."""
        return self not in (PolicyKind.MANAGED, PolicyKind.INLINE)

    @property
    def counts_white_space(self) -> bool:
        """Whether AWS counts white space; IAM does not."""
        return self not in (PolicyKind.TRUST, PolicyKind.MANAGED, PolicyKind.INLINE)
