from localcloud.properties import changes, merged, value_at, values_at, without_none
from localcloud.values import UNKNOWN, Secret


def test_a_path_passes_through_lists_and_secrets():
    values = {"devices": [{"ebs": {"key": "a"}}, {"ebs": Secret({"key": "b"})}, {}]}
    assert values_at(values, "devices.ebs.key") == ["a", "b"]
    assert value_at(values, "devices.1.ebs.key") == "b"


def test_below_an_unknown_everything_is_unknown_and_below_a_text_there_is_nothing():
    assert value_at({"config": UNKNOWN}, "config.deep.er") is UNKNOWN
    assert values_at({"config": UNKNOWN}, "config.deep") == [UNKNOWN]
    assert value_at({"config": "text"}, "config.deep") is None
    assert values_at({"config": "text"}, "config.deep") == []


def test_maps_merge_and_lists_are_replaced():
    assert merged({"a": {"x": 1, "y": [1]}}, {"a": {"y": [2]}}) == {"a": {"x": 1, "y": [2]}}


def test_null_is_the_same_as_left_out():
    assert without_none({"a": None, "b": [{"c": None}]}) == {"b": [{}]}


def test_changes_name_the_exact_property():
    old = {"tags": {"a/b": "1", "same": "x"}, "gone": 1, "list": [1, 2]}
    new = {"tags": {"a/b": "2", "same": "x"}, "list": [2, 1], "new": 1}
    assert dict(changes(old, new)) == {'tags["a/b"]': "update", "gone": "delete", "list": "update", "new": "add"}


def test_the_order_of_a_set_is_no_change():
    assert not list(changes({"subnetIds": ["a", "b"]}, {"subnetIds": ["b", "a"]}, ("subnetIds",)))


def test_documents_are_compared_by_what_they_say():
    assert not list(changes({"policy": '{"a": 1, "b": 2}'}, {"policy": '{"b":2,"a":1}'}))
    assert list(changes({"policy": '{"a": 1}'}, {"policy": '{"a": 2}'}))


def test_a_value_that_only_became_secret_is_no_change():
    assert not list(changes({"key": "x"}, {"key": Secret("x")}))
