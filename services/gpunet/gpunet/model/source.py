"""Where a model's bytes come from: a file, or an object in S3. They are read once, in order, and checked."""

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gpunet.model.errors import ModelCorrupt, ModelMissing

MOST_BYTES = 2**30
"""No model of this service has a tenth of it; more would only end in the container's memory limit."""

_CHUNK = 2**20
_TRIES = 3

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelBytes:
    """A whole file and where it is from."""

    data: bytes
    suffix: str
    """Of its name, lower case: `.onnx`, `.safetensors`, `.pth`, ..."""
    version: str
    sha256: str


@dataclass(frozen=True)
class S3Object:
    """An object; without `version_id`, its latest version."""

    bucket: str
    key: str
    version_id: str | None = None


def read_model(path: Path | None, s3_object: S3Object | None, sha256: str | None) -> ModelBytes:
    """Reads the file when it exists, else the object.

    Args:
        path: a file. On a mounted bucket too it is read from beginning to end: anything else is slow there.
        s3_object: what to read when there is no such file.
        sha256: what the bytes must hash to; None takes them as they are.

    Raises:
        ModelMissing: there is neither.
        ModelCorrupt: the bytes hash to something else, or are too many.
    """
    if path is not None and path.is_file():
        if path.stat().st_size > MOST_BYTES:
            raise ModelCorrupt(f"{path} has more than {MOST_BYTES} bytes")
        data, version, name = path.read_bytes(), "file", path.name
    elif s3_object is not None:
        data, version = _read_object(s3_object)
        name = PurePosixPath(s3_object.key).name
    elif path is not None:
        raise ModelMissing(f"MODEL_PATH is {path}, where there is no file, and no S3_BUCKET_NAME is set to read from")
    else:
        raise ModelMissing(
            "no model: set MODEL_PATH to a .onnx, .safetensors or .pth file, or S3_BUCKET_NAME and S3_KEY; to try the "
            "service without a model, GPUNET_RANDOM_WEIGHTS=true"
        )
    digest = hashlib.sha256(data).hexdigest()
    if sha256 is not None and digest != sha256.lower():
        raise ModelCorrupt(
            f"{name} has the SHA-256 {digest}, and MODEL_SHA256 says {sha256}: it is another version, or was changed"
        )
    return ModelBytes(data, PurePosixPath(name).suffix.lower(), version, digest)


def _read_object(s3_object: S3Object) -> tuple[bytes, str]:
    # Imported late: it takes a third of a second, and a mounted model needs none of it.
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    # A wrong region or a missing identity shall end the start, not hang it.
    config = Config(connect_timeout=5, read_timeout=30, retries={"mode": "standard", "total_max_attempts": 4})
    request = {"Bucket": s3_object.bucket, "Key": s3_object.key}
    if s3_object.version_id:
        request["VersionId"] = s3_object.version_id
    where = f"s3://{s3_object.bucket}/{s3_object.key}"
    factory: Any = boto3
    tries_left = _TRIES
    while True:
        tries_left -= 1
        try:
            answer = factory.client("s3", config=config).get_object(**request)
        except (ClientError, BotoCoreError) as error:
            raise ModelMissing(
                f"{where} cannot be read ({_reason(error)}): check bucket, key, version, region and the pod's identity "
                "(s3:GetObject, and s3:GetObjectVersion where S3_VERSION_ID is set)"
            ) from error
        try:
            return _body(answer, where), str(answer.get("VersionId") or "unversioned")
        # boto repeats requests, but not a body that breaks off.
        except BotoCoreError as error:
            if not tries_left:
                raise ModelMissing(f"{where} broke off {_TRIES} times while it was read ({_reason(error)})") from error
            log.warning("the download of the model broke off; it starts anew", extra={"object": where})


def _body(answer: Any, where: str) -> bytes:
    size = int(answer["ContentLength"])
    if size > MOST_BYTES:
        raise ModelCorrupt(f"{where} has {size} bytes, more than {MOST_BYTES}")
    return b"".join(answer["Body"].iter_chunks(_CHUNK))


def _reason(error: Exception) -> str:
    response: Any = getattr(error, "response", {})
    return str(response.get("Error", {}).get("Code") or type(error).__name__)
