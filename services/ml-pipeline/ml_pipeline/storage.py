"""Where steps read and write: `s3://bucket/key`, or a path of this machine."""

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import boto3
from botocore.exceptions import ClientError

from ml_pipeline.errors import AlreadyThere, Missing

_ABSENT = frozenset({"NoSuchKey", "404"})
_PRESENT = frozenset({"PreconditionFailed", "ConditionalRequestConflict"})


class Store(Protocol):
    """A place for files, each known by its address."""

    def read(self, uri: str) -> bytes:
        """The file's content.

        Raises:
            Missing: there is none.
        """
        ...

    def write(self, uri: str, content: bytes) -> None:
        """Puts a file in its place at once: readers see the old one or the new one, whole."""
        ...

    def create(self, uri: str, content: bytes) -> None:
        """Like `write`, for a file that must not exist yet.

        Raises:
            AlreadyThere: it exists; nothing was changed.
        """
        ...


class LocalFiles:
    """Files of this machine."""

    def read(self, uri: str) -> bytes:
        try:
            return Path(uri).read_bytes()
        except FileNotFoundError as error:
            raise Missing(f"There is no file {uri}.") from error

    def write(self, uri: str, content: bytes) -> None:
        Path(_written_beside(uri, content)).replace(uri)

    def create(self, uri: str, content: bytes) -> None:
        written = _written_beside(uri, content)
        try:
            # Unlike a rename, a link never replaces what is there.
            os.link(written, uri)
        except FileExistsError as error:
            raise AlreadyThere(f"There is a file {uri} already.") from error
        finally:
            os.unlink(written)


def _written_beside(uri: str, content: bytes) -> str:
    """A file with the content in the folder of another one, which is made."""
    folder = Path(uri).parent
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return name


class S3Objects:
    """Objects in S3; credentials and region are those of the environment, in a cluster those of Pod Identity."""

    def __init__(self) -> None:
        self._client: Any = boto3.client("s3")  # pyright: ignore[reportUnknownMemberType]

    def read(self, uri: str) -> bytes:
        try:
            return self._client.get_object(**_place(uri))["Body"].read()
        except ClientError as error:
            if _code(error) in _ABSENT:
                raise Missing(f"There is no object {uri}.") from error
            raise

    def write(self, uri: str, content: bytes) -> None:
        self._client.put_object(**_place(uri), Body=content)

    def create(self, uri: str, content: bytes) -> None:
        try:
            # S3 decides, so that of two writers one is refused.
            self._client.put_object(**_place(uri), Body=content, IfNoneMatch="*")
        except ClientError as error:
            if _code(error) in _PRESENT:
                raise AlreadyThere(f"There is an object {uri} already.") from error
            raise


def _place(uri: str) -> dict[str, str]:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return {"Bucket": bucket, "Key": key}


def _code(error: ClientError) -> str:
    answer: Any = error.response
    return answer["Error"]["Code"]


@cache
def _s3() -> S3Objects:
    return S3Objects()


def store_of(uri: str) -> Store:
    """The store that an address belongs to."""
    return _s3() if uri.startswith("s3://") else LocalFiles()


def read(uri: str) -> bytes:
    """See `Store.read`."""
    return store_of(uri).read(uri)


def write(uri: str, content: bytes) -> None:
    """See `Store.write`."""
    store_of(uri).write(uri, content)


def create(uri: str, content: bytes) -> None:
    """See `Store.create`."""
    store_of(uri).create(uri, content)
