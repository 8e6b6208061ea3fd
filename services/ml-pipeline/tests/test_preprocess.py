"""Three parts of a data set that know nothing of each other."""

import numpy as np
import pytest
from given import SHARES

from ml_pipeline import storage
from ml_pipeline.arrays import digest, pack
from ml_pipeline.errors import PipelineError
from ml_pipeline.preprocess import preprocess
from ml_pipeline.run import Run

PARTS = ("train", "validation", "test")


def prepare(tmp_path, table, **changes):
    uri, content = str(tmp_path / "data.npz"), pack(table)
    storage.write(uri, content)
    run = Run(str(tmp_path / "run"))
    given = {"data_version": digest(content), **SHARES, **changes}
    preprocess(uri, run, **given)
    return run.prepared()


def rows(prepared, part):
    return {tuple(row) for row in getattr(prepared, f"x_{part}")}


def test_every_row_is_in_one_part_with_its_class(tmp_path, table):
    prepared = prepare(tmp_path, table)
    assert [len(getattr(prepared, f"x_{part}")) for part in PARTS] == [140, 30, 30]
    known = {tuple(row): str(name) for row, name in zip(table["x"], table["y"], strict=True)}
    found = {}
    for part in PARTS:
        told = zip(getattr(prepared, f"x_{part}"), getattr(prepared, f"y_{part}"), strict=True)
        found |= {tuple(row): str(prepared.classes[place]) for row, place in told}
    assert found == known


def test_each_part_has_the_classes_in_proportion(tmp_path, table):
    prepared = prepare(tmp_path, table)
    for part in PARTS:
        assert np.mean(getattr(prepared, f"y_{part}")) == pytest.approx(0.5, abs=0.02)


def test_rows_that_repeat_each_other_are_in_one_part(tmp_path, table):
    repeated = {
        "x": np.concatenate([table["x"], table["x"][:100]]),
        "y": np.concatenate([table["y"], table["y"][:100]]),
    }
    prepared = prepare(tmp_path, repeated)
    assert sum(len(getattr(prepared, f"x_{part}")) for part in PARTS) == 300
    train, validation, test = (rows(prepared, part) for part in PARTS)
    assert not train & validation | train & test | validation & test, "the test would ask what training has seen"


def test_the_scale_is_that_of_the_training_part_alone(tmp_path, table):
    prepared = prepare(tmp_path, table)
    np.testing.assert_allclose(prepared.mean, prepared.x_train.mean(axis=0))
    np.testing.assert_allclose(prepared.scaled(prepared.x_train).std(axis=0), 1)
    assert not np.allclose(prepared.mean, table["x"].mean(axis=0))


def test_the_seed_decides_the_split(tmp_path, table):
    one, same, other = (prepare(tmp_path, table, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.x_test, same.x_test)
    assert rows(one, "test") != rows(other, "test")


def test_a_data_set_that_changed_since_it_was_validated_is_refused(tmp_path, table):
    with pytest.raises(PipelineError, match="has changed since it was validated"):
        prepare(tmp_path, table, data_version="another")


def test_a_data_set_too_small_for_three_parts_is_refused(tmp_path, table):
    few = {"x": table["x"][:6], "y": table["y"][:6]}
    with pytest.raises(PipelineError, match="too small for three parts"):
        prepare(tmp_path, few)
