"""`gpunet classify` asks a running service for the labels of a file or of an address, and says what is wrong."""

import asyncio

import pytest
from conftest import picture, running, settings_for

from gpunet.cli import run


async def asked(capsys, server, image, *options):
    """The command's exit code, and what it prints."""
    code = await asyncio.to_thread(run, ["classify", "--server", server, *options, image])
    return code, capsys.readouterr()


async def test_a_file_and_an_address_get_labels_the_likeliest_first(origin, tmp_path, capsys):
    origin.put("/a.png", picture(620))
    file = tmp_path / "desk.png"
    file.write_bytes(picture(526))
    async with running(settings_for(origin)) as (client, _):
        server = str(client._base_url)
        code, said = await asked(capsys, server, str(file))
        assert (code, len(said.out.splitlines())) == (0, 5)
        assert said.out.splitlines()[0].endswith("%  desk  (n03179701)")
        code, said = await asked(capsys, server, origin.url("/a.png"), "--top-k", "1")
        assert (code, len(said.out.splitlines())) == (0, 1)
        assert "laptop" in said.out


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        ("missing.png", "missing.png cannot be read: No such file or directory"),
        (".", ". cannot be read: Is a directory"),
        ("ftp://example.com/a.png", "neither a file nor an address that the service fetches: http:// or https://"),
        ("http://169.254.169.254/latest", "refused http://169.254.169.254/latest: "),
    ],
)
async def test_what_cannot_be_asked_for_is_told_in_one_line(image, reason, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    async with running(settings_for()) as (client, _):
        code, said = await asked(capsys, str(client._base_url), image)
    assert (code, said.out) == (1, "")
    assert reason in said.err
    assert len(said.err.splitlines()) == 1


async def test_a_file_that_is_no_image_is_named(tmp_path, capsys):
    file = tmp_path / "words.jpg"
    file.write_text("no image")
    async with running(settings_for()) as (client, _):
        code, said = await asked(capsys, str(client._base_url), str(file))
    assert code == 1
    assert f"refused {file}: " in said.err
    assert "unsupported_media" in said.err


async def test_without_a_service_it_says_how_to_start_one(tmp_path, capsys):
    file = tmp_path / "desk.png"
    file.write_bytes(picture())
    async with running(settings_for()) as (client, _):
        server = str(client._base_url)
    code, said = await asked(capsys, server, str(file))
    assert code == 1
    assert "does not answer (Connection refused). `gpunet serve` starts a service there" in said.err
