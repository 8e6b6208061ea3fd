"""The expansion of eks.Cluster against what the real component registered (golden/eks_cluster.json)."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from localcloud.eks_cluster import Expansion, Registered, UnsupportedArgumentError, expand, resolve, urns
from localcloud.values import UNKNOWN, Reference, contains_unknown

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "eks_cluster.json").read_text())
NAME, ARGUMENTS, BASE = GOLDEN["name"], GOLDEN["arguments"], GOLDEN["base"]
PROGRAM = GOLDEN["madeInTheProgram"]

KNOWN = {
    "cluster-eksRole-role": {"arn": "arn:aws:iam::123456789012:role/r"},
    "cluster-eksCluster": {
        "arn": "arn:aws:eks:us-west-2:123456789012:cluster/eksai-dev",
        "name": "eksai-dev",
        "endpoint": "https://X.eks.example.com",
        "certificateAuthority": {"data": "Q0E="},
        "vpcConfig": {"clusterSecurityGroupId": "sg-eks"},
        "identities": [{"oidcs": [{"issuer": "https://oidc.example.com/id/X"}]}],
    },
}
AT_FIRST_PREVIEW = {"cluster-eksRole-role": {"arn": UNKNOWN}, "cluster-eksCluster": {"name": "eksai-dev"}}
MADE_IN_THE_PROGRAM = {
    "publicSubnetIds": ["urn:pub0", "urn:pub1"],
    "privateSubnetIds": ["urn:priv0", "urn:priv1"],
    "encryptionConfigKeyArn": ["urn:key"],
    "vpcId": ["urn:vpc"],
}


def expanded(**changes: Any) -> Expansion:
    return expand(NAME, {**ARGUMENTS, **changes}, {})


def answers(expansion: Expansion, outputs: Mapping[str, Any], *, created: bool) -> dict[str, Registered]:
    return {
        child.name: Registered(
            f"urn:{child.name}",
            (f"{child.name}-id" if created else UNKNOWN) if child.custom else None,
            outputs.get(child.name, {}),
        )
        for child in expansion.children
    }


def read(value: Any, registered: Mapping[str, Registered]) -> Any:
    """A value in the golden file's notation, as the engine would see it."""
    if value == "$kubeconfig":
        return read(GOLDEN["kubeconfig"], registered)
    if isinstance(value, str) and (placeholder := re.fullmatch(r"\$\{([\w-]+)\.(.+)}", value)):
        found: Any = registered[placeholder[1]].outputs
        for step in placeholder[2].split("."):
            found = found[step]
        return found
    if isinstance(value, dict) and set(value) == {"$resource"}:
        return Reference(registered[value["$resource"]].urn, registered[value["$resource"]].id)
    if isinstance(value, dict) and set(value) == {"$json"}:
        return json.dumps(read(value["$json"], registered), separators=(",", ":"))
    if isinstance(value, dict):
        return {key: read(item, registered) for key, item in value.items()}
    if isinstance(value, list):
        return [read(item, registered) for item in value]
    return value


def described(expansion: Expansion, registered: Mapping[str, Registered]) -> dict[str, dict[str, Any]]:
    return {
        child.name: {
            "type": child.type,
            "parent": child.parent_name,
            "custom": child.custom,
            "inputs": resolve(child.inputs, registered),
            "dependencies": sorted(child.dependencies),
            "propertyDependencies": {key: sorted(origins) for key, origins in child.property_dependencies.items()},
            "ignoreChanges": list(child.ignore_changes),
        }
        for child in expansion.children
    }


def golden(children: list[dict[str, Any]], registered: Mapping[str, Registered]) -> dict[str, dict[str, Any]]:
    return {
        child["name"]: {
            "type": child["type"],
            "parent": child["parent"],
            "custom": child["custom"],
            "inputs": read(child["inputs"], registered),
            "dependencies": sorted(child["dependencies"]),
            "propertyDependencies": child["propertyDependencies"],
            "ignoreChanges": child.get("ignoreChanges", []),
        }
        for child in children
    }


def test_the_children_are_those_of_the_real_component() -> None:
    expansion = expanded()
    registered = answers(expansion, KNOWN, created=True)

    assert described(expansion, registered) == golden(BASE["children"], registered)


def test_every_child_follows_its_parent_and_what_it_depends_on() -> None:
    expansion = expanded(**GOLDEN["twoAccessEntries"]["arguments"])
    seen: set[str] = set()
    for child in expansion.children:
        assert {*child.dependencies, *([child.parent_name] if child.parent_name else [])} <= seen, (
            f"{child.name} is registered before something that it refers to"
        )
        seen.add(child.name)


def test_the_outputs_are_those_of_the_real_component() -> None:
    expansion = expanded()
    registered = answers(expansion, KNOWN, created=True)
    outputs = expansion.outputs(registered)

    assert outputs == {name: read(output["value"], registered) for name, output in BASE["outputs"].items()}
    assert not set(BASE["absentOutputs"]) & set(outputs), "the real component never sets these here"
    assert not contains_unknown(outputs), "a no-change preview would plan to replace what reads an unknown"


def test_each_output_comes_from_what_the_real_one_comes_from() -> None:
    assert {name: sorted(origins) for name, origins in expanded().output_dependencies.items()} == {
        name: output["dependencies"] for name, output in BASE["outputs"].items()
    }


def test_a_first_preview_knows_what_the_real_one_knows() -> None:
    expansion = expanded()
    registered = answers(expansion, AT_FIRST_PREVIEW, created=False)
    outputs = expansion.outputs(registered)

    unknown = {name for name, output in BASE["outputs"].items() if output["first_preview"] == "unknown"}
    assert {name for name, value in outputs.items() if value is UNKNOWN} == unknown
    assert outputs["eksCluster"] == Reference("urn:cluster-eksCluster", UNKNOWN), "the reference itself is known"
    for child, recorded in zip(expansion.children, BASE["children"], strict=True):
        inputs = resolve(child.inputs, registered)
        found = {
            f"{key}.id" if isinstance(value, Reference) else key
            for key, value in inputs.items()
            if contains_unknown(value)
        }
        assert found == set(recorded["unknownAtFirstPreview"]), child.name


def test_the_service_role_registers_its_role_once_that_is_known() -> None:
    expansion = expanded()
    service_role = expansion.children[0]
    registered = answers(expansion, KNOWN, created=True)
    assert resolve(service_role.outputs, registered) == read(BASE["serviceRoleOutputs"], registered)

    preview = answers(expansion, AT_FIRST_PREVIEW, created=False)
    assert resolve(service_role.outputs, preview)["resolvedRole"] is UNKNOWN


def test_access_entries_become_entries_and_associations() -> None:
    recorded = GOLDEN["twoAccessEntries"]
    expansion = expanded(**recorded["arguments"])
    registered = answers(expansion, KNOWN, created=True)

    expected = golden([*BASE["children"], *recorded["added"]], registered)
    assert described(expansion, registered) == expected
    assert expansion.outputs(registered)["core"]["accessEntries"] == recorded["coreAccessEntries"]


def test_what_the_program_made_is_depended_on_where_the_real_component_does() -> None:
    expansion = expand(NAME, ARGUMENTS, MADE_IN_THE_PROGRAM)
    registered = answers(expansion, KNOWN, created=True)
    cluster = next(child for child in expansion.children if child.name == "cluster-eksCluster")

    def plain(names: Any) -> list[str]:
        return sorted(urn.removeprefix("urn:") for urn in urns(names, registered))

    assert plain(cluster.dependencies) == PROGRAM["cluster"]["dependencies"]
    assert {key: plain(value) for key, value in cluster.property_dependencies.items()} == PROGRAM["cluster"][
        "propertyDependencies"
    ]
    assert plain(expansion.output_dependencies["core"]) == PROGRAM["coreDependencies"]


def test_one_unknown_subnet_makes_the_list_unknown_and_nothing_beside_it() -> None:
    expansion = expanded(publicSubnetIds=["subnet-1", UNKNOWN], encryptionConfigKeyArn=UNKNOWN)
    cluster = next(child for child in expansion.children if child.name == "cluster-eksCluster")

    assert cluster.inputs["vpcConfig"]["subnetIds"] is UNKNOWN
    assert cluster.inputs["vpcConfig"]["publicAccessCidrs"] == ARGUMENTS["publicAccessCidrs"]
    assert cluster.inputs["encryptionConfig"] is UNKNOWN


def test_an_argument_left_out_is_left_out_of_the_child() -> None:
    arguments = {key: value for key, value in ARGUMENTS.items() if not key.startswith("endpointPublic")}
    del arguments["encryptionConfigKeyArn"]
    cluster = next(child for child in expand(NAME, arguments, {}).children if child.name == "cluster-eksCluster")

    assert "endpointPublicAccess" not in cluster.inputs["vpcConfig"]
    assert "encryptionConfig" not in cluster.inputs


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"skipDefaultNodeGroup": False}, "skipDefaultNodeGroup is False, must be True"),
        ({"skipDefaultSecurityGroups": None}, "skipDefaultSecurityGroups"),
        ({"authenticationMode": "CONFIG_MAP"}, "authenticationMode"),
        ({"createOidcProvider": True}, "createOidcProvider"),
        ({"kubeProxyAddonOptions": {"enabled": True}}, "kubeProxyAddonOptions.enabled must be False"),
        ({"instanceType": "t3.medium"}, "instanceType is not modelled"),
        ({"subnetIds": ["subnet-1"]}, "subnetIds is not modelled"),
        ({"endpointPublicAccess": False}, "publicAccessCidrs needs endpointPublicAccess"),
    ],
)
def test_an_argument_with_unseen_children_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(UnsupportedArgumentError, match=re.escape(named)):
        expanded(**change)


def test_all_unseen_arguments_are_named_at_once() -> None:
    with pytest.raises(UnsupportedArgumentError, match=r"fargate.*storageClasses"):
        expanded(fargate=True, storageClasses={})


def test_access_entries_of_roles_made_in_the_program_are_refused() -> None:
    with pytest.raises(UnsupportedArgumentError, match=re.escape("make such entries with aws.eks.AccessEntry")):
        expand(NAME, ARGUMENTS, {"accessEntries": ["urn:role"]})
