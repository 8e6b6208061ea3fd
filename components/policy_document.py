"""IAM policy documents: built from statements, or read from a JSON file whose `${name}` places are filled in."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import pulumi

VERSION = "2012-10-17"


def document(*statements: Mapping[str, Any]) -> pulumi.Output[str]:
    """A policy document as JSON text.

    Args:
        statements: the statements, whose values may be Outputs.
    """
    return pulumi.Output.json_dumps({"Version": VERSION, "Statement": list(statements)})


def from_file(path: Path, values: Mapping[str, pulumi.Input[str]]) -> pulumi.Output[str]:
    """A policy document from a file.

    Args:
        path: a JSON file; `${name}` in it stands for a value.
        values: what to put in.

    Raises:
        KeyError: the file names a value that is not given.
        ValueError: the text is not JSON once it is filled in.
    """
    template = Template(path.read_text(encoding="utf-8"))

    def fill(given: Mapping[str, str]) -> str:
        return json.dumps(json.loads(template.substitute(given)))

    return pulumi.Output.all(**values).apply(fill)


def trust(service: str, actions: Sequence[str] = ("sts:AssumeRole",)) -> str:
    """The trust policy of a role that an AWS service assumes.

    Args:
        service: the service's principal, for example `ec2.amazonaws.com`.
        actions: what the service may do to take the role on.
    """
    principal = {"Service": service}
    statement = {"Effect": "Allow", "Principal": principal, "Action": list(actions)}
    return json.dumps({"Version": VERSION, "Statement": [statement]})


def deny_plain_http(service: str, resources: Sequence[pulumi.Input[str]]) -> dict[str, Any]:
    """The statement that refuses every request without TLS.

    Args:
        service: the prefix of the service's actions, for example `s3`.
        resources: the ARNs that the policy protects.
    """
    return {
        "Sid": "DenyPlainHttp",
        "Effect": "Deny",
        "Principal": "*",
        "Action": f"{service}:*",
        "Resource": list(resources),
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
