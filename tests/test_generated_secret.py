"""Values that are drawn once, and where they go."""

import json
import re
from typing import Any

import pulumi
import pulumi_random as random

from components.generated_secret import Drawn, GeneratedSecret, GeneratedSecretArgs, HexKey, Password
from components.generation import generation
from localcloud.values import Secret
from tests.options import ignored
from tests.world import Built, run

PASSWORD, OCTETS, SECRET, VERSION = (
    "random:index/randomPassword:RandomPassword",
    "random:index/randomBytes:RandomBytes",
    "aws:secretsmanager/secret:Secret",
    "aws:secretsmanager/secretVersion:SecretVersion",
)
ALL: dict[str, Drawn] = {"password": Password(), "encryption-key": HexKey(), "public-key": Password(prefix="pk-lf-")}
UNPROTECTED = pulumi.ResourceOptions()


def args(values: dict[str, Drawn] = ALL, *, keep: bool = True) -> GeneratedSecretArgs:
    return {
        "secret_name": "eksai-dev/langfuse",
        "description": "Langfuse of eksai-dev",
        # A key of another account: what it allows is no matter of this component.
        "key_arn": "alias/somebody-elses",
        "values": values,
        "keep": keep,
    }


def built(
    values: dict[str, Drawn] = ALL, *, keep: bool = True, opts: pulumi.ResourceOptions = UNPROTECTED
) -> Built[GeneratedSecret]:
    return run(lambda: GeneratedSecret("langfuse", args(values, keep=keep), opts))


def written(found: Built[GeneratedSecret]) -> dict[str, str]:
    text = found.only(VERSION).inputs["secretStringWo"]
    assert isinstance(text, Secret)
    return json.loads(text.value)


def test_the_secret_is_one_object_with_every_value():
    found = built()
    values = {key: found.value(value) for key, value in found.result.values.items()}
    assert written(found) == values
    assert values.keys() == ALL.keys()


def test_a_password_needs_no_escaping_anywhere_and_has_something_of_each_kind():
    value = written(built())["password"]
    assert re.fullmatch(r"[A-Za-z0-9]{32}", value)
    assert all(re.search(kind, value) for kind in ("[a-z]", "[A-Z]", "[0-9]"))


def test_a_key_has_two_digits_an_octet():
    assert re.fullmatch(r"[0-9a-f]{64}", written(built())["encryption-key"])


def test_a_prefix_comes_before_what_is_drawn():
    assert re.fullmatch(r"pk-lf-[A-Za-z0-9]{32}", written(built())["public-key"])


def test_no_two_values_are_the_same():
    values = written(built({key: Password() for key in "abcdef"})).values()
    assert len(set(values)) == 6


def test_every_value_is_secret_and_the_secret_is_only_written():
    found = built()
    assert "secretString" not in found.only(VERSION).inputs, "it would be read back at every refresh"
    for resource in (*found.all(PASSWORD), *found.all(OCTETS)):
        assert isinstance(resource.outputs.get("result", resource.outputs.get("hex")), Secret)


def test_it_is_encrypted_with_the_stacks_key_under_a_name_known_beforehand():
    secret = built().only(SECRET).inputs
    assert (secret["name"], secret["kmsKeyId"]) == ("eksai-dev/langfuse", "alias/somebody-elses")


def test_a_value_that_is_there_is_never_drawn_anew():
    kept = ignored(lambda opts: GeneratedSecret("langfuse", args(), opts))
    found = built()
    drawn = [*found.all(PASSWORD), *found.all(OCTETS)]
    assert len(drawn) == len(ALL)
    for resource in drawn:
        given = {re.sub("[A-Z]", lambda big: f"_{big[0].lower()}", key) for key in resource.inputs}
        assert kept[resource.name] == given, "a change of any argument replaces what is drawn"
        assert "keepers" not in given


def test_the_secret_is_written_anew_when_a_value_is_another_one_or_new_and_only_then():
    def number(values: dict[str, Drawn], **changed: Any) -> int:
        return built(values, **changed).only(VERSION).inputs["secretStringWoVersion"]

    first = number(ALL)
    assert first == number(ALL, keep=False) == number(dict(reversed(ALL.items())))
    assert first != number({**ALL, "one-more": Password()})
    assert first != number({**ALL, "password": Password(length=40)})


def test_what_says_that_a_value_changed_is_a_plain_number_of_its_own():
    found = built()
    for key, value in found.result.values.items():
        assert found.value(found.result.generations[key]) == generation(str(found.value(value)))
    assert isinstance(found.only(VERSION).inputs["secretStringWoVersion"], int | float)


def test_whoever_names_the_secret_waits_for_its_value():
    def build() -> None:
        name = GeneratedSecret("langfuse", args()).secret_name
        random.RandomPassword("user", length=8, keepers={"secret": name})

    found = run(build)
    assert found.named("user").inputs["keepers"] == {"secret": "eksai-dev/langfuse"}
    assert found.only(VERSION).urn in found.named("user").dependencies


def test_one_that_is_kept_is_protected_with_all_its_values_and_can_be_restored():
    found = built(keep=True)
    assert all(resource.protect for resource in found.resources if resource.custom)
    assert found.only(SECRET).inputs["recoveryWindowInDays"] == 30


def test_one_that_is_not_kept_goes_at_once_and_leaves_its_name():
    found = built(keep=False)
    assert not any(resource.protect for resource in found.resources)
    assert found.only(SECRET).inputs["recoveryWindowInDays"] == 0


def test_what_is_protected_from_outside_hands_it_on():
    found = built(keep=False, opts=pulumi.ResourceOptions(protect=True))
    assert all(resource.protect for resource in found.resources)


def test_a_first_preview_knows_the_name_and_no_value():
    found = run(lambda: GeneratedSecret("langfuse", args()), preview=True)
    assert found.value(found.result.secret_name) == "eksai-dev/langfuse"
    assert not [key for key, value in found.result.values.items() if found.value(value) is not None]
