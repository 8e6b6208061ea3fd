"""Readers of weights: what they accept, what they prefer, and what a file cannot make them do."""

import argparse
import collections
import contextlib
import io
import json
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest
from checkpoints import archive, saved, training_run

from gpunet.model.architecture import GPUNET_0
from gpunet.model.errors import ModelCorrupt, WrongModel
from gpunet.model.pickled import read_pickled
from gpunet.model.safetensors import read_safetensors
from gpunet.model.weights import random_weights, read_checkpoint, read_tensors

NAME = "network. layer15.net.6.bias"


def safetensors(arrays, kinds=None):
    """Returns the bytes of a safetensors file."""
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, array in arrays.items():
        data = array.tobytes()
        kind = (kinds or {}).get(name, {"<f4": "F32", "<i8": "I64", "<f2": "F16"}.get(array.dtype.str, "F32"))
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + body


@pytest.fixture(scope="module")
def average():
    return random_weights(GPUNET_0, 8).arrays


def test_of_a_training_checkpoint_the_average_is_taken(weights, average):
    found = read_checkpoint(saved(training_run(weights, average)), GPUNET_0)

    assert found.kind == "ema"
    assert np.array_equal(found.arrays[NAME], average[NAME])


def test_the_last_weights_can_be_asked_for(weights, average):
    found = read_checkpoint(saved(training_run(weights, average)), GPUNET_0, "raw")

    assert found.kind == "raw"
    assert np.array_equal(found.arrays[NAME], weights[NAME])


def test_without_an_average_the_last_weights_are_taken_and_reported(weights):
    found = read_checkpoint(saved({"state_dict": weights, "epoch": 3}), GPUNET_0)

    assert found.kind == "raw"


def test_an_average_that_is_asked_for_must_be_there(weights):
    with pytest.raises(WrongModel, match="no ema weights; it has state_dict"):
        read_checkpoint(saved({"state_dict": weights}), GPUNET_0, "ema")


def test_a_bare_state_dict_with_the_prefix_of_a_parallel_run_is_read(weights):
    found = read_checkpoint(saved({f"module.{name}": array for name, array in weights.items()}), GPUNET_0)

    assert found.kind == "plain"
    assert np.array_equal(found.arrays[NAME], weights[NAME])


def test_tensors_that_are_not_contiguous_are_read_as_they_were_meant():
    turned = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    tensor = read_pickled(saved({"x": turned.T.copy().T}))["x"]

    assert tensor.shape == (3, 4)


def test_safetensors_are_read(weights):
    found = read_tensors(safetensors(weights), GPUNET_0)

    assert np.array_equal(found.arrays[NAME], weights[NAME])


def test_bfloat16_is_read_as_the_upper_half_of_a_float32():
    halves = np.array([1.0, -2.5, 3.140625], np.float32).view(np.uint32) >> 16
    found = read_safetensors(safetensors({"x": halves.astype(np.uint16)}, {"x": "BF16"}))

    assert found["x"].tolist() == [1.0, -2.5, 3.140625]


@pytest.mark.parametrize("change", ["missing", "foreign", "shape", "not finite", "no tensor"])
def test_weights_of_another_network_are_refused_by_name(weights, change):
    wrong = dict(weights)
    match change:
        case "missing":
            del wrong[NAME]
        case "foreign":
            wrong["blocks.0.conv.weight"] = np.zeros(3, np.float32)
        case "shape":
            wrong[NAME] = np.zeros(10, np.float32)
        case "not finite":
            wrong[NAME] = np.full(1000, np.nan, np.float32)
        case _:
            wrong[NAME] = "text"
    with pytest.raises(WrongModel):
        read_checkpoint(saved(wrong), GPUNET_0)


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    "hostile",
    [
        Calls(os.system, "touch /tmp/gpunet-was-here"),
        Calls(eval, "1"),
        Calls(getattr, "text", "upper"),
        Calls(collections.Counter, "abc"),
        Calls(open, "/etc/passwd"),
    ],
    ids=["os.system", "eval", "getattr", "Counter", "open"],
)
def test_a_checkpoint_that_calls_anything_else_is_not_read(hostile):
    data = archive({"data.pkl": pickle.dumps({"state_dict": hostile}, protocol=2)})

    with pytest.raises(ModelCorrupt, match="weights do not need"):
        read_pickled(data)
    assert not os.path.exists("/tmp/gpunet-was-here")


def test_one_file_cannot_change_how_the_next_one_is_read(weights):
    # Sets an attribute on what it was given for argparse.Namespace: the BUILD opcode on a class.
    opcodes = b"\x80\x02cargparse\nNamespace\n}X\x0c\x00\x00\x00__setstate__K\x01s\x86b."
    with pytest.raises(ModelCorrupt):
        read_pickled(archive({"data.pkl": opcodes}))
    content = read_pickled(saved({"args": argparse.Namespace(lr=1)}))

    assert type(content["args"]).__name__ == "Namespace"


def test_a_small_file_cannot_describe_a_huge_tensor():
    torch_like = saved({"x": np.zeros(4, np.float32)})
    with zipfile.ZipFile(io.BytesIO(torch_like)) as file:
        entries = {name.partition("/")[2]: file.read(name) for name in file.namelist()}
    # The shape (4,) becomes (2 ** 31 - 1,), its stride 0.
    wide = entries["data.pkl"].replace(b"K\x04\x85", b"J\xff\xff\xff\x7f\x85", 2).replace(b"K\x01\x85", b"K\x00\x85")
    tensor = read_pickled(archive({**entries, "data.pkl": wide}))["x"]

    with pytest.raises(ModelCorrupt, match="does not fit"):
        tensor.read()


def test_damaged_checkpoints_are_called_corrupt():
    good = saved({"x": np.arange(64, dtype=np.float32)})
    draw = np.random.default_rng(5)
    for _ in range(300):
        bad = bytearray(good[: draw.integers(1, len(good))] if draw.random() < 0.3 else good)
        for place in draw.integers(0, len(bad), 4):
            bad[place] = draw.integers(256)
        try:
            found = read_pickled(bytes(bad))
            if isinstance(found, dict) and hasattr(found.get("x"), "read"):
                found["x"].read()
        except ModelCorrupt:
            pass


def test_compressed_entries_are_refused_before_they_are_inflated():
    with pytest.raises(ModelCorrupt, match="compressed"):
        read_pickled(archive({"data.pkl": b"\x80\x02}."}, compression=zipfile.ZIP_DEFLATED))


def test_damaged_safetensors_are_called_corrupt():
    good = safetensors({"x": np.arange(64, dtype=np.float32)})
    draw = np.random.default_rng(6)
    for _ in range(300):
        bad = bytearray(good[: draw.integers(1, len(good))] if draw.random() < 0.3 else good)
        for place in draw.integers(0, min(len(bad), 90), 3):
            bad[place] = draw.integers(256)
        with contextlib.suppress(ModelCorrupt):
            read_safetensors(bytes(bad))


def test_random_weights_are_the_same_for_the_same_seed():
    first, second = random_weights(GPUNET_0, 1), random_weights(GPUNET_0, 1)

    assert all(np.array_equal(first.arrays[name], second.arrays[name]) for name in first.arrays)
    assert first.kind == "random"
