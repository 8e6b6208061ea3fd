"""Which `pulumi` is used."""

import pytest

from automation.engine import FLOOR, find_engine, find_kubernetes
from automation.errors import EngineError, EngineMissing, EngineTooOld
from tools.engine.programs import PROGRAMS, cache_folder, installed_folder


@pytest.fixture
def environment(tmp_path):
    """An environment with an empty cache and an empty PATH."""
    (tmp_path / "path").mkdir()
    return {"EKSAI_CACHE": str(tmp_path / "cache"), "PATH": str(tmp_path / "path")}


def put_on_path(environment, answer):
    place(environment["PATH"] + "/pulumi", answer)


def put_in_cache(environment, name="pulumi"):
    folder = installed_folder(PROGRAMS[name], cache_folder(environment)) / "bin"
    folder.mkdir(parents=True)
    place(f"{folder}/{name}", "")
    return folder


def place(path, answer):
    with open(path, "w") as file:
        file.write(f"#!/bin/sh\necho '{answer}'\n")
    import os

    os.chmod(path, 0o755)


def test_the_one_on_path_is_used_as_it_is(environment):
    put_in_cache(environment)
    put_on_path(environment, "v3.999.0")

    engine = find_engine(environment)

    assert str(engine.path) == environment["PATH"] + "/pulumi"
    assert str(engine.version) == "3.999.0"
    assert not engine.built_here


def test_one_that_is_too_old_is_refused_though_the_cache_has_a_newer_one(environment):
    put_in_cache(environment)
    put_on_path(environment, "v3.100.0")

    with pytest.raises(EngineTooOld, match=rf"is Pulumi 3\.100\.0; the program needs {FLOOR} or newer"):
        find_engine(environment)


def test_without_one_on_path_the_cache_is_used(environment):
    folder = put_in_cache(environment)

    engine = find_engine(environment)

    assert engine.path == folder / "pulumi"
    assert engine.built_here
    assert (folder / "pulumi-language-python").exists(), "it is of no use without its language host"


def test_the_one_from_the_cache_is_recognised_on_path(environment):
    folder = put_in_cache(environment)

    engine = find_engine({**environment, "PATH": str(folder)})

    assert engine.built_here, "after `eksai local env` it is on PATH, and still has no AWS provider"


def test_without_any_the_message_says_how_to_get_one(environment):
    with pytest.raises(EngineMissing, match="eksai engine build"):
        find_engine(environment)


def test_one_that_gives_no_version_is_refused(environment):
    put_on_path(environment, "not a version")

    with pytest.raises(EngineError, match="gives no version"):
        find_engine(environment)


@pytest.mark.parametrize(
    ("built", "missing"),
    [
        ([], ["pulumi-resource-kubernetes 4.34.2", "kube 1.35.4", "19 minutes"]),
        (["kube"], ["pulumi-resource-kubernetes 4.34.2", "10 minutes"]),
    ],
)
def test_what_a_real_kubernetes_lacks_is_named_with_the_time_and_the_command(environment, built, missing):
    for name in built:
        put_in_cache(environment, name)
    with pytest.raises(EngineMissing) as lacking:
        find_kubernetes(environment)
    assert all(text in str(lacking.value) for text in [*missing, "eksai engine build --kubernetes"])


def test_the_programs_of_a_real_kubernetes_are_found_once_both_are_built(environment):
    folders = {name: put_in_cache(environment, name) for name in ("kube", "pulumi-resource-kubernetes")}
    found = find_kubernetes(environment)
    assert (found.kube.parent, found.provider.parent) == tuple(folders.values())
