"""The table of programs and the cache that they are kept in."""

import importlib.metadata
import shutil
from pathlib import Path

import pytest

from tools.engine.programs import PROGRAMS, cache_folder, installed, installed_folder


def required(program, module):
    words = (program.module / "go.mod").read_text().split()
    return words[words.index(module) + 1]


@pytest.mark.parametrize(
    ("name", "module"), [("pulumi", "github.com/pulumi/pulumi/pkg/v3"), ("kube", "k8s.io/kubernetes")]
)
def test_a_module_fixes_the_version_that_the_table_names(name, module):
    assert required(PROGRAMS[name], module) == f"v{PROGRAMS[name].version}", "go.mod and the table must agree"


def test_the_provider_says_that_it_is_of_the_python_packages_version():
    provider = PROGRAMS["pulumi-resource-kubernetes"]
    assert provider.version == importlib.metadata.version("pulumi-kubernetes"), "the engine asks for no other"
    assert f"main.version={provider.version}" in provider.linker_flags


def test_the_servers_say_their_version_as_helm_reads_it():
    kube = PROGRAMS["kube"]
    major, minor, _ = kube.version.split(".")
    for flag in (f"gitVersion=v{kube.version}", f"gitMajor={major}", f"gitMinor={minor}"):
        assert f"version.{flag}" in kube.linker_flags


def test_a_program_is_another_one_when_its_sources_change(tmp_path, monkeypatch):
    kube = PROGRAMS["kube"]
    shutil.copytree(kube.module, tmp_path / "kube")
    monkeypatch.setattr("tools.engine.programs.MODULES", tmp_path)
    before = installed_folder(kube, tmp_path)
    assert installed_folder(kube, tmp_path) == before
    (tmp_path / "kube" / "main.go").write_text("package main")
    assert installed_folder(kube, tmp_path) != before


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
class TestEveryProgram:
    def test_its_build_is_repeatable(self, program):
        assert (program.module / "go.sum").stat().st_size > 0

    def test_its_module_states_which_go_it_needs(self, program):
        assert program.go_version() >= (1, 25)


def test_the_cache_is_in_the_home_folder_unless_eksai_cache_names_another(tmp_path):
    assert cache_folder({}) == Path.home() / ".cache" / "eksai" / "engine"
    assert cache_folder({"EKSAI_CACHE": str(tmp_path)}) == tmp_path / "engine"


def test_a_file_that_cannot_be_run_is_not_an_installed_program(tmp_path):
    program = PROGRAMS["pulumi"]
    binary = installed_folder(program, tmp_path) / "bin" / "pulumi"
    assert installed(program, tmp_path) is None, "nothing was built yet"

    binary.parent.mkdir(parents=True)
    binary.write_text("half a program")
    assert installed(program, tmp_path) is None, "it is not executable"

    binary.chmod(0o755)
    assert installed(program, tmp_path) == binary
