"""Files in their places, on this machine and in S3."""

import pytest

from ml_pipeline import storage
from ml_pipeline.errors import AlreadyThere, Missing


@pytest.fixture(params=["local", "s3"])
def place(request, tmp_path):
    return str(tmp_path / "deep/er") if request.param == "local" else request.getfixturevalue("bucket") + "/deep/er"


def test_what_is_written_is_read_and_the_last_one_counts(place):
    for content in (b"one", b"two"):
        storage.write(f"{place}/file", content)
        assert storage.read(f"{place}/file") == content


def test_what_is_not_there_is_missing(place):
    with pytest.raises(Missing, match="There is no"):
        storage.read(f"{place}/file")


def test_what_is_created_is_never_overwritten(place):
    storage.create(f"{place}/file", b"first")
    with pytest.raises(AlreadyThere, match="already"):
        storage.create(f"{place}/file", b"second")
    assert storage.read(f"{place}/file") == b"first"


def test_nothing_half_written_stays_beside_a_file(tmp_path):
    storage.create(str(tmp_path / "file"), b"first")
    with pytest.raises(AlreadyThere):
        storage.create(str(tmp_path / "file"), b"second")
    storage.write(str(tmp_path / "file"), b"third")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
