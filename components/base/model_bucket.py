"""The bucket that models are served from."""

import pulumi
from typing_extensions import TypedDict

from components.bucket import make_private_bucket


class ModelBucketSettings(TypedDict):
    """The plain part of `ModelBucketArgs`."""

    name: str | None
    """The bucket's name; None for a generated one."""
    noncurrent_days: int
    """Days that an overwritten or deleted object is kept."""
    abort_upload_days: int
    """Days after which an unfinished multipart upload is removed."""


class ModelBucketArgs(ModelBucketSettings):
    """What the bucket needs."""

    key_arn: pulumi.Input[str]
    """Key that objects are encrypted with."""
    keep: bool
    """Whether it is protected from deletion; else it goes with the stack, with all models."""


class ModelBucket(pulumi.ComponentResource):
    """A private, versioned, encrypted bucket that answers over TLS only; models stay until somebody deletes them."""

    bucket: pulumi.Output[str]
    arn: pulumi.Output[str]

    def __init__(self, name: str, args: ModelBucketArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:ModelBucket", name, {}, opts)
        made = make_private_bucket(
            name,
            bucket_name=args["name"],
            key_arn=args["key_arn"],
            noncurrent_days=args["noncurrent_days"],
            abort_upload_days=args["abort_upload_days"],
            keep_days=None,
            keep=args["keep"],
            parent=self,
        )
        self.bucket = made.bucket
        self.arn = made.arn
        self.register_outputs({"bucket": self.bucket})
