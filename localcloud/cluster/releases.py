"""Helm releases as the cluster shows them: the values that a chart's controller runs with, and its identity."""

from collections.abc import Mapping
from typing import Any

import yaml

from localcloud.cluster.pods import role_of
from localcloud.cluster.view import Object, View
from localcloud.properties import value_at
from localcloud.record import Record


def values_of(release: Object) -> Mapping[str, Any]:
    """Returns a release's values.

    Args:
        release: the ConfigMap of its stand-in.
    """
    return yaml.safe_load(release.get("data", {}).get("values.yaml", "")) or {}


def controller_role(view: View, release: Object, default_account: str) -> Record | None:
    """Returns the role of a release's controller; None when it has none.

    Args:
        view: where the release is.
        release: the ConfigMap of its stand-in.
        default_account: service account of the controller when the values name none.
    """
    account = value_at(values_of(release), "serviceAccount.name") or default_account
    return role_of(view, release["metadata"]["namespace"], account)
