"""A data set that is not fit is told why in a sentence, before anything is computed."""

import numpy as np
import pytest
from given import LIMITS

from ml_pipeline import storage
from ml_pipeline.arrays import digest, pack
from ml_pipeline.errors import PipelineError
from ml_pipeline.example_data import SOURCES, write_example
from ml_pipeline.validate import validate


def check(uri, *, model_name="model", numbers=None, rates=None, **limits):
    return validate(uri, model_name=model_name, numbers=numbers or {}, rates=rates or {}, **LIMITS | limits)


@pytest.fixture
def written(tmp_path):
    def write(content, name="data.npz"):
        uri = str(tmp_path / name)
        storage.write(uri, content if isinstance(content, bytes) else pack(content))
        return uri

    return write


@pytest.mark.parametrize("name", sorted(SOURCES))
@pytest.mark.parametrize("form", ["csv", "npz"])
def test_the_examples_are_fit_in_both_forms(tmp_path, name, form):
    uri = str(tmp_path / f"data.{form}")
    write_example(name, uri, shuffled=False, seed=0)
    assert check(uri) == digest(storage.read(uri)), "the version is that of the file"


def test_a_table_without_mistakes_passes(written, table):
    check(written(table))


BAD = [
    ("too few rows", lambda t: {"x": t["x"][:50], "y": t["y"][:50]}, "has 50 rows, and at least 100"),
    ("not a number", lambda t: t | {"x": np.where(t["x"] > 5, np.nan, t["x"])}, "values are not finite numbers"),
    ("infinite", lambda t: t | {"x": np.where(t["x"] > 5, np.inf, t["x"])}, "values are not finite numbers"),
    ("one class", lambda t: t | {"y": np.zeros(200, int)}, "needs two classes or more"),
    ("a rare class", lambda t: t | {"y": (np.arange(200) < 10).astype(int)}, "The class 1 has 10 of 200 rows"),
    ("repeated rows", lambda t: t | {"x": np.tile(t["x"][:100], (2, 1))}, "100 of 200 rows repeat another one, 50%"),
    ("no classes", lambda t: {"x": t["x"]}, "no array y"),
    ("lengths differ", lambda t: t | {"y": t["y"][:-1]}, "one class for each row"),
    ("no table", lambda t: t | {"x": t["x"][:, 0]}, "has a table of numbers"),
    ("texts for numbers", lambda t: t | {"x": t["x"].astype(str)}, "The array x has numbers"),
    ("measurements for classes", lambda t: t | {"y": t["x"][:, 0]}, "The array y has classes"),
    ("no columns", lambda t: t | {"x": t["x"][:, :0]}, "no column but the classes"),
]


@pytest.mark.parametrize(("change", "sentence"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_a_data_set_that_is_not_fit_is_refused(written, table, change, sentence):
    with pytest.raises(PipelineError, match=sentence):
        check(written(change(table)))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n1,2\n", "one of them label"),
        ("", "one of them label"),
        ("a,label\n1,x\n2\n", "Line 3 has 1 columns"),
        ("a,label\n1,x\ntwo,y\n", "Line 3 has something other than numbers"),
        ("label,a,label\nx,1,y\n", "one of them label"),
    ],
)
def test_a_csv_file_of_another_form_is_refused_with_the_line(written, text, sentence):
    with pytest.raises(PipelineError, match=sentence):
        check(written(text.encode(), "data.csv"))


def test_a_file_that_would_run_code_is_not_read(written, tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    np.savez(tmp_path / "data.npz", x=np.array([Trap()], dtype=object), y=np.array([0]))
    with pytest.raises(PipelineError, match=r"not an \.npz of plain arrays"):
        check(str(tmp_path / "data.npz"))
    assert not (tmp_path / "sprung").exists()


def test_another_kind_of_file_is_refused(written):
    with pytest.raises(PipelineError, match=r"ends with \.csv or \.npz"):
        check(written(b"", "data.parquet"))


@pytest.mark.parametrize(
    "uri", ["s3://b/data.csv'; rm -rf /", "s3://bucket/a b.csv", 's3://bucket/"}.csv', "http://x/a.csv"]
)
def test_an_address_that_could_break_out_of_a_command_is_refused(uri):
    with pytest.raises(PipelineError, match="The address of a data set is"):
        check(uri)


@pytest.mark.parametrize("name", ["Model", "a/../../b", 'a"b', "a b", "", "a" * 64])
def test_a_models_name_is_a_plain_one(written, table, name):
    with pytest.raises(PipelineError, match="A model's name has"):
        check(written(table), model_name=name)


BROKEN = ["", "1; ls", "-1", "1e3", '4", "image": "x', "nan", "٤", "1.", ".5", "1\n"]


@pytest.mark.parametrize("text", [*BROKEN, "2.5", "2.0", "010", "1234567890"])
def test_a_parameter_that_is_no_whole_number_is_refused(written, table, text):
    with pytest.raises(PipelineError, match="The parameter workers is a whole number"):
        check(written(table), numbers={"workers": text})


@pytest.mark.parametrize("text", BROKEN)
def test_a_rate_that_is_no_plain_number_is_refused(written, table, text):
    with pytest.raises(PipelineError, match="The parameter minimum-accuracy is a plain decimal number"):
        check(written(table), rates={"minimum-accuracy": text})


def test_whole_numbers_and_rates_are_taken_as_they_are_written(written, table):
    check(
        written(table),
        numbers={"workers": "2", "seed": "0", "epochs": "123456789"},
        rates={"minimum-accuracy": "0.95", "other": "1"},
    )
