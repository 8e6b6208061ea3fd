import copy

from google.protobuf.struct_pb2 import Struct

from localcloud.values import (
    UNKNOWN,
    Reference,
    Secret,
    contains_secret,
    contains_unknown,
    from_wire,
    reveal,
    to_struct,
    to_wire,
)

SIGNATURE = "4dabf18193072939515e22adb298388d"
EVERYTHING = {
    "unknown": UNKNOWN,
    "secret": Secret(["a", UNKNOWN]),
    "made": Reference("urn:a", "vpc-1"),
    "not yet made": Reference("urn:b", UNKNOWN),
    "component": Reference("urn:c"),
    "plain": [1, 2.5, True, None, "text", {"deep": UNKNOWN}],
}


def test_every_kind_of_value_survives_the_wire():
    assert from_wire(to_struct(EVERYTHING)) == EVERYTHING


def test_whole_numbers_come_back_as_integers():
    struct = Struct()
    struct.update({"size": 20})
    assert isinstance(from_wire(struct)["size"], int), "the wire knows only doubles, and 20.0 is no version number"


def test_an_output_value_becomes_what_it_holds():
    output = {SIGNATURE: "d0e6a833031e9bbcd3f4e8bde6ca49a4"}
    assert from_wire(output) is UNKNOWN, "an output without a value is not known yet"
    assert from_wire({**output, "value": "x", "secret": True}) == Secret("x")
    assert from_wire({**output, "value": "x", "dependencies": ["urn"]}) == "x"


def test_unknowns_of_every_type_are_one_value():
    assert from_wire("3eeb2bf0-c639-47a8-9e75-3b44932eb421") is UNKNOWN, "an unknown number"
    assert copy.deepcopy(UNKNOWN) is UNKNOWN


def test_secrets_and_unknowns_are_found_however_deep():
    assert contains_unknown(Secret({"a": [UNKNOWN]}))
    assert contains_unknown(Reference("urn", UNKNOWN))
    assert not contains_unknown({"a": Reference("urn")}), "a component has no id to wait for"
    assert contains_secret([{"a": Secret(1)}])
    assert not contains_secret(EVERYTHING["plain"])


def test_a_secret_does_not_show_in_messages():
    assert "hunter2" not in repr({"password": Secret("hunter2")})
    assert reveal({"password": [Secret("hunter2")]}) == {"password": ["hunter2"]}


def test_a_component_is_referred_to_without_id():
    assert "id" not in to_wire(Reference("urn"))
