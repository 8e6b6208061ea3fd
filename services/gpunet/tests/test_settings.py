"""Settings from the environment, and what a container's limits leave."""

import pytest
from pydantic import ValidationError

from gpunet.cli import run
from gpunet.labels import labels
from gpunet.processors import usable_processors
from gpunet.settings import Settings


def test_the_sources_names_are_read(monkeypatch):
    for name, value in {
        "MODEL_PATH": "/models/g.pth",
        "S3_BUCKET_NAME": "b",
        "S3_KEY": "k",
        "S3_VERSION_ID": "v",
    }.items():
        monkeypatch.setenv(name, value)
    choice = Settings().model_choice()

    assert str(choice.path) == "/models/g.pth"
    assert (choice.s3_object.bucket, choice.s3_object.key, choice.s3_object.version_id) == ("b", "k", "v")


def test_what_kubernetes_sets_for_a_service_of_that_name_changes_nothing(monkeypatch):
    monkeypatch.setenv("GPUNET_PORT", "tcp://10.100.0.1:80")
    monkeypatch.setenv("GPUNET_SERVICE_HOST", "10.100.0.1")

    assert Settings().listen_port == 8080


def test_lists_are_separated_by_commas(monkeypatch):
    monkeypatch.setenv("GPUNET_FETCH_DENIED_NETWORKS", "198.51.100.0/24, 2600:1f18::/56")
    monkeypatch.setenv("GPUNET_FETCH_HOSTS", "a.example, .b.example")
    monkeypatch.setenv("GPUNET_FETCH_PORTS", "443")
    rules = Settings().fetch_rules()

    assert [str(network) for network in rules.addresses.denied] == ["198.51.100.0/24", "2600:1f18::/56"]
    assert tuple(rules.hosts) == ("a.example", ".b.example")
    assert tuple(rules.ports) == (443,)


def test_batches_are_small_on_a_cpu_and_large_on_a_gpu():
    assert Settings().model_choice().most_batch == 4
    assert Settings(device="cuda").model_choice().most_batch == 32
    assert Settings(max_batch=8).model_choice().most_batch == 8


def test_random_weights_are_never_served_in_a_models_place(monkeypatch):
    monkeypatch.setenv("MODEL_PATH", "/models/g.pth")
    with pytest.raises(ValidationError, match="although there is a model"):
        Settings(random_weights=True)


def test_wrong_settings_are_named_all_at_once_without_a_traceback(monkeypatch, capsys):
    monkeypatch.setenv("GPUNET_LISTEN_PORT", "http")
    monkeypatch.setenv("MODEL_SHA256", "abc")
    monkeypatch.setenv("GPUNET_DEVICE", "tpu")

    assert run(["serve"]) == 1
    said = capsys.readouterr().err
    for name in ("LISTEN_PORT", "MODEL_SHA256", "DEVICE"):
        assert name in said


@pytest.mark.parametrize(
    ("content", "expected"), [("max 100000", None), ("150000 100000", 2), ("10000 100000", 1), ("x", None)]
)
def test_a_containers_limit_counts(tmp_path, content, expected):
    (tmp_path / "cpu.max").write_text(content)
    whole = usable_processors(tmp_path / "none")

    assert usable_processors(tmp_path / "cpu.max") == min(whole, expected or whole)


def test_labels_are_those_of_the_sources_example():
    known = labels()

    assert len(known) == 1000 == len({label.name for label in known}) == len({label.wnid for label in known})
    sample = [known[index].name for index in (526, 620, 681, 624, 664)]
    assert sample == ["desk", "laptop", "notebook", "library", "monitor"]
    assert known[0].wnid == "n01440764"
