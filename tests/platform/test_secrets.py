"""Where External Secrets reads from."""

from components.platform.secrets import SecretStore
from tests.world import run


def test_the_store_is_secrets_manager_by_the_controllers_own_identity():
    store = run(lambda: SecretStore("secret-store", {"region": "eu-west-1"})).only(
        "kubernetes:external-secrets.io/v1:ClusterSecretStore"
    )
    assert store.inputs["spec"] == {"provider": {"aws": {"service": "SecretsManager", "region": "eu-west-1"}}}
    assert store.inputs["metadata"]["name"] == "aws"


def test_what_depends_on_the_store_waits_until_it_is_ready():
    store = run(lambda: SecretStore("secret-store", {"region": "eu-west-1"})).only(
        "kubernetes:external-secrets.io/v1:ClusterSecretStore"
    )
    assert store.inputs["metadata"]["annotations"] == {"pulumi.com/waitFor": "condition=Ready"}
