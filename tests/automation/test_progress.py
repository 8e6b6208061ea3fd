"""What a person sees while a run goes on and at its end, at 80 columns."""

import io

import pytest
from rich.console import Console

from automation import summary
from automation.events import Announced, Failed, Finished, Message, Resource, Started, Summary, Violation
from automation.progress import Board, MovingProgress, watching
from automation.results import Record
from automation.summary import output_table, print_result


def resource(name, type_="aws:ec2/subnet:Subnet"):
    return Resource(f"urn:pulumi:dev::eksai::eksai:index:Network${type_}::{name}")


def screen(*, terminal=False):
    return Console(file=io.StringIO(), width=80, force_terminal=terminal, color_system=None, highlight=False)


def text_of(console):
    return console.file.getvalue()


def test_the_board_knows_what_is_running_and_how_much_is_left():
    board = Board()
    for event in (Announced(3), Started(resource("a"), "create"), Started(resource("b"), "create")):
        board.add(event, now=1.0)
    board.add(Finished(resource("a"), "create"), now=2.0)

    assert (len(board.done), board.total) == (1, 3)
    assert [entry[0].name for entry in board.running.values()] == ["b"]

    board.add(Failed(resource("b"), "no"), now=3.0)
    assert not board.running, "what has failed is not being worked on"


def test_the_total_grows_with_resources_that_nobody_announced():
    board = Board()
    for name in "abc":
        board.add(Started(resource(name), "create"), now=1.0)

    assert board.total == 3


def test_where_nothing_can_move_each_resource_is_a_line():
    console = screen()
    with watching(console) as hear:
        for event in (
            Announced(3),
            Started(resource("a"), "create"),
            Finished(resource("a"), "create"),
            Finished(resource("b"), "same"),
            Finished(resource("stack", "pulumi:pulumi:Stack"), "create"),
        ):
            hear(event)

    lines = text_of(console).splitlines()
    assert len(lines) == 1, "what did not change, and what only groups others, is no news"
    assert lines[0].endswith("1/3 created ec2.Subnet a")


def test_a_preview_does_not_claim_that_anything_was_made():
    console = screen()
    with watching(console, is_preview=True) as hear:
        hear(Finished(resource("a"), "create"))

    assert text_of(console) == ""


@pytest.mark.parametrize("terminal", [False, True])
def test_findings_warnings_and_failures_stay_on_the_screen(terminal, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    console = screen(terminal=terminal)
    with watching(console) as hear:
        hear(Violation("narrow-endpoint", "advisory", "Rather wide.", resource("a").urn))
        hear(Failed(resource("b"), "InvalidSubnet.Range"))
        hear(Message("warning", "pending operations"))

    shown = text_of(console)
    assert "narrow-endpoint: ec2.Subnet a" in shown
    assert "Rather wide." in shown
    assert "ec2.Subnet b" in shown
    assert "pending operations" in shown


def test_the_moving_display_fits_the_screen_and_names_a_few(monkeypatch):
    console = screen(terminal=True)
    moving = MovingProgress(console)
    moving.listen(Announced(40))
    for index in range(9):
        moving.listen(Started(resource(f"a-rather-long-name-of-a-subnet-in-some-zone-{index}" * 2), "create"))

    with console.capture() as captured:
        console.print(moving)
    lines = captured.get().splitlines()

    assert "0/40 resources" in lines[0]
    assert sum("creating" in line for line in lines) == 6
    assert lines[-1].strip() == "and 3 more"
    assert max(map(len, lines)) <= 80


def result(kind="up", outputs=None, *events):
    record = Record()
    for event in events:
        record.add(event)
    return record.result(kind, "dev", outputs or {}, 65.0)


def test_much_that_is_new_is_counted_by_service_and_operation(monkeypatch):
    monkeypatch.setattr(summary, "LISTED", 1)
    console = screen()
    events = [
        Finished(resource("a"), "create"),
        Finished(resource("b"), "same"),
        Finished(resource("q", "aws:sqs/queue:Queue"), "create"),
        Finished(resource("net", "eksai:index:Network"), "create"),
        Summary({"create": 3, "same": 1}, 65),
    ]

    print_result(result("up", None, *events), console, place="the local cloud")

    lines = [line.split() for line in text_of(console).splitlines()]
    assert text_of(console).startswith("✓ up of dev on the local cloud: 3 created, 1 unchanged  1:05")
    assert ["ec2", "1", "1"] in lines
    assert ["sqs", "1"] in lines
    assert ["total", "3", "1"] in lines


def test_what_changes_or_vanishes_is_named_among_however_much_that_is_new(monkeypatch):
    monkeypatch.setattr(summary, "LISTED", 1)
    console = screen()
    events = [
        *(Finished(resource(name), "create") for name in "abc"),
        Finished(resource("old"), "replace", ("cidrBlock",)),
        Summary({"create": 3, "replace": 1}, 1),
    ]

    print_result(result("preview", None, *events), console, place="the local cloud")

    assert "± ec2.Subnet old  cidrBlock" in text_of(console)
    assert "ec2.Subnet a" not in text_of(console)


def test_a_small_preview_lists_each_change_with_its_reason():
    console = screen()
    events = [Finished(resource("a"), "update", ("tags", "cidrBlock")), Summary({"update": 1}, 1)]

    print_result(result("preview", None, *events), console, place="the local cloud")

    assert "1 to update" in text_of(console)
    assert "~ ec2.Subnet a  tags, cidrBlock" in text_of(console)


def test_no_change_is_one_line():
    console = screen()

    print_result(result("preview", None, Summary({"same": 94}, 1)), console, place="the local cloud")

    assert text_of(console).splitlines() == ["✓ preview of dev on the local cloud: no change, 94 resources  1:05"]


def test_long_outputs_are_cut_and_their_names_are_not():
    console = screen()
    console.print(output_table({"cluster_certificate_authority": "x" * 200, "zones": ["a", "b"]}))

    first, second = text_of(console).splitlines()
    assert "cluster_certificate_authority  xxx" in first
    assert len(first) <= 80
    assert second.rstrip().endswith('["a", "b"]'), "what is no text is shown as JSON"
