import base64
import string

import pytest

from localcloud.catalog import Identity, find
from localcloud.values import UNKNOWN, reveal

NOWHERE = Identity("", "")


def made(kind, seed="seed", **inputs):
    declared = find(f"random:index/random{kind}:Random{kind}")
    made_id, outputs = declared.computed(inputs, NOWHERE, seed)
    return made_id, outputs


def test_a_string_holds_as_many_of_each_class_as_asked_for():
    for seed in ("a", "b", "c"):
        text = made("String", seed, length=12, minUpper=3, minNumeric=4, special=False)[1]["result"]
        assert len(text) == 12
        assert sum(character.isupper() for character in text) >= 3
        assert sum(character.isdigit() for character in text) >= 4
        assert not set(text) - set(string.ascii_letters + string.digits)


def test_special_characters_can_be_chosen():
    text = made("String", length=8, lower=False, upper=False, numeric=False, overrideSpecial="-_")[1]["result"]
    assert set(text) <= {"-", "_"}


def test_bytes_are_the_same_in_both_encodings():
    outputs = made("Bytes", length=32)[1]
    assert base64.b64decode(outputs["base64"].value) == bytes.fromhex(outputs["hex"].value)
    assert len(outputs["hex"].value) == 64


def test_a_pet_has_as_many_words_as_asked_for():
    assert len(made("Pet", length=3, prefix="x")[0].split("-")) == 4


@pytest.mark.parametrize("kind", ["Password", "String", "Bytes", "Uuid", "Pet"])
def test_nothing_random_is_known_in_a_preview(kind):
    _, outputs = made(kind, None, length=UNKNOWN)
    for name in {"result", "base64", "hex"} & outputs.keys():
        assert reveal(outputs[name]) is UNKNOWN, f"{name} must wait for creation"
