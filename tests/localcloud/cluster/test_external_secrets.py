"""ExternalSecrets become Secrets, in a real cluster with the published CRDs."""

import pytest

from localcloud.aws.secretsmanager import SECRET as STORED
from localcloud.cluster.conditions import find
from localcloud.cluster.external_secrets import CHART, FINALIZER, external_secrets
from localcloud.cluster.kinds import EXTERNAL_SECRET, NAMESPACED_SECRET_STORE, SECRET, SECRET_STORE
from tests.localcloud.cluster.stage import Stage, decoded

pytestmark = pytest.mark.slow

RIGHTS = ("secretsmanager:GetSecretValue", "kms:Decrypt")


@pytest.fixture
def crds(published_crds):
    """The CRDs of External Secrets as it publishes them."""
    published_crds("crds/external-secrets*.yaml")
    published_crds("crds-gz/external-secrets*.yaml.gz")


@pytest.fixture
def stage(cloud, client, crds):
    stage = Stage(cloud, client, external_secrets)
    stage.node("a")
    yield stage
    stage.clear()


def install(stage, *rights):
    stage.release(CHART)
    if rights:
        stage.identity(CHART, *rights)


def store(stage, kind=SECRET_STORE):
    where = {"namespace": stage.namespace} if kind is NAMESPACED_SECRET_STORE else {}
    aws = {"service": "SecretsManager", "region": "us-west-2"}
    stage.make(kind, {"metadata": {"name": stage.namespace, **where}, "spec": {"provider": {"aws": aws}}})


def stored(stage, name="eksai/db", **inputs):
    made = stage.cloud.make(STORED, name=name, recoveryWindowInDays=0, **inputs)
    stage.cloud.make("aws:secretsmanager/secretVersion:SecretVersion", secretId=made["id"], secretString="hidden")
    return made


def external(stage, kind="ClusterSecretStore", **spec):
    data = [{"secretKey": "password", "remoteRef": {"key": "eksai/db", "property": "password"}}]
    stage.make(
        EXTERNAL_SECRET,
        {
            "metadata": {"name": "db", "namespace": stage.namespace},
            "spec": {"secretStoreRef": {"name": stage.namespace, "kind": kind}, "data": data, **spec},
        },
    )


def synced(stage):
    """Waits until the ExternalSecret is delivered."""
    reason = {"status": "True", "reason": "SecretSynced"}
    stage.until(lambda: reason.items() <= (find(stage.own(EXTERNAL_SECRET, "db"), "Ready") or {}).items())


def fails_for(stage, cause):
    """Waits until the ExternalSecret says why it is not delivered."""

    def look():
        condition = find(stage.own(EXTERNAL_SECRET, "db"), "Ready") or {"message": ""}
        return condition if cause in condition["message"] else None

    condition = stage.until(look)
    assert (condition["status"], condition["reason"]) == ("False", "SecretSyncedError")


def test_a_secret_is_delivered_and_goes_with_what_asked_for_it(stage):
    install(stage, *RIGHTS)
    store(stage)
    stored(stage)
    external(stage)
    synced(stage)
    secret = stage.own(SECRET, "db")
    assert decoded(secret) == {"password": "stand-in for eksai/db password"}
    assert secret["metadata"]["ownerReferences"][0]["name"] == "db"
    assert FINALIZER in stage.own(EXTERNAL_SECRET, "db")["metadata"]["finalizers"]
    stage.delete(EXTERNAL_SECRET, "db")
    stage.until(lambda: stage.own(EXTERNAL_SECRET, "db") is None)
    stage.until(lambda: stage.own(SECRET, "db") is None)


def test_a_store_of_the_namespace_serves_too(stage):
    install(stage, *RIGHTS)
    store(stage, NAMESPACED_SECRET_STORE)
    stored(stage)
    external(stage, "SecretStore")
    synced(stage)


def test_a_missing_secret_is_named_and_its_arrival_noticed(stage):
    install(stage, *RIGHTS)
    store(stage)
    external(stage)
    fails_for(stage, "Secrets Manager has no eksai/db")
    assert "Secret does not exist" in " ".join(stage.events("UpdateFailed"))
    stored(stage)
    synced(stage)


def test_without_its_store_nothing_is_delivered(stage):
    install(stage, *RIGHTS)
    stored(stage)
    external(stage)
    fails_for(stage, "it does not exist")


def test_without_an_identity_the_store_is_not_ready(stage):
    install(stage)
    store(stage)
    stage.until(
        lambda: (find(stage.get(SECRET_STORE, stage.namespace), "Ready") or {}).get("reason") == "ValidationFailed"
    )
    stored(stage)
    external(stage)
    fails_for(stage, "Pod Identity")


def test_whole_secrets_and_templates_are_delivered(stage):
    install(stage, *RIGHTS)
    store(stage)
    for name in ("eksai/db", "eksai/web"):
        stored(stage, name)
    template = {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "{{ .password }}"}}
    external(stage, target={"name": "pull", "template": template}, dataFrom=[{"find": {"name": {"regexp": "^eksai/"}}}])
    synced(stage)
    assert decoded(stage.own(SECRET, "pull")) == {".dockerconfigjson": "{}"}


def test_a_changed_secret_is_set_right(stage):
    install(stage, *RIGHTS)
    store(stage)
    stored(stage)
    external(stage)
    synced(stage)
    stage.client.patch(SECRET, "db", {"stringData": {"password": "mine", "more": "x"}}, namespace=stage.namespace)
    stage.until(lambda: decoded(stage.own(SECRET, "db")) == {"password": "stand-in for eksai/db password"})


def test_without_its_controller_an_external_secret_stays(stage):
    install(stage, *RIGHTS)
    store(stage)
    stored(stage)
    external(stage)
    synced(stage)
    stage.uninstall(CHART)
    stage.delete(EXTERNAL_SECRET, "db")
    stage.turns()
    assert "deletionTimestamp" in stage.own(EXTERNAL_SECRET, "db")["metadata"]
