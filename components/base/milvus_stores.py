"""What Milvus stores outside the cluster: its bucket and its secret."""

import pulumi
from typing_extensions import TypedDict

from components.bucket import make_private_bucket
from components.generated_secret import GeneratedSecret, Password
from components.milvus import ROOT_PASSWORD, MilvusStores

_NONCURRENT_DAYS = 7
"""Days that a deleted object is kept. Milvus rewrites its files all the time, and each one that is kept is paid for."""
_ABORT_UPLOAD_DAYS = 7


class MilvusStoresArgs(TypedDict):
    """What the stores of Milvus need."""

    cluster_name: str
    """Names follow from it."""
    key_arn: pulumi.Input[str]
    """Key that both are encrypted with."""
    keep: bool
    """Whether they are protected from deletion; else they go with the stack, with all data."""


class MilvusStorage(pulumi.ComponentResource):
    """The bucket with all vectors and indexes, and the secret with the password of the user `root`."""

    stores: MilvusStores

    def __init__(self, name: str, args: MilvusStoresArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:MilvusStorage", name, {}, opts)
        bucket = make_private_bucket(
            name,
            bucket_name=None,
            key_arn=args["key_arn"],
            noncurrent_days=_NONCURRENT_DAYS,
            abort_upload_days=_ABORT_UPLOAD_DAYS,
            keep_days=None,
            keep=args["keep"],
            parent=self,
        )
        secret = GeneratedSecret(
            name,
            {
                "secret_name": f"{args['cluster_name']}/milvus",
                "description": f"Milvus of {args['cluster_name']}",
                "key_arn": args["key_arn"],
                "values": {ROOT_PASSWORD: Password()},
                "keep": args["keep"],
            },
            pulumi.ResourceOptions(parent=self),
        )
        self.stores = MilvusStores(bucket.bucket, bucket.arn, secret.secret_name)
        self.register_outputs({})


def make_milvus_stores(args: MilvusStoresArgs, opts: pulumi.ResourceOptions) -> MilvusStores:
    """Makes the stores of Milvus.

    Args:
        args: what they need.
        opts: carries the AWS provider.
    """
    return MilvusStorage("milvus", args, opts).stores
