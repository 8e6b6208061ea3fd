"""A run of a workflow's DAG as Argo would make it, as far as the pipeline's template uses it.

Nothing in Python runs workflows. This walks the tasks in the order of their dependencies, fills in `{{...}}` and
refuses what stays open, judges `when`, and takes what each task puts out from whoever asks for the run.
"""

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any

Outputs = Mapping[str, str]
Work = Callable[[Mapping[str, Any]], Outputs | None]
"""What a filled-in template puts out; None: it fails."""

_PLACE = re.compile(r"\{\{([^{}]+)\}\}")
_WHEN = re.compile(r"([\d.]+) (>|>=|<|<=|==) ([\d.]+)")
_COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "==": operator.eq}


class Unresolved(Exception):
    """A template refers to what is not there at that point."""


@dataclass
class Walk:
    """What came of a run."""

    status: dict[str, str] = field(default_factory=dict[str, str])
    """By task: `Succeeded`, `Failed`, `Skipped`, `Omitted`."""
    ran: list[str] = field(default_factory=list[str])
    """The tasks that ran, in order."""
    templates: dict[str, Any] = field(default_factory=dict[str, Any])
    """By task: its template, filled in."""


def walk(spec: Mapping[str, Any], work: Work, **parameters: str) -> Walk:
    """Runs the DAG of a workflow's entrypoint.

    Args:
        spec: the spec of a Workflow or WorkflowTemplate.
        work: does what a template says.
        parameters: parameters that the run is started with; `_` stands for `-`.
    """
    given = {name.replace("_", "-"): value for name, value in parameters.items()}
    declared = {parameter["name"]: parameter.get("value") for parameter in spec["arguments"]["parameters"]}
    assert not given.keys() - declared.keys(), "Argo takes no parameter that is not declared"
    known = {f"workflow.parameters.{name}": value for name, value in (declared | given).items() if value is not None}
    known |= {"workflow.name": "ml-training-pipeline-abcde", "workflow.uid": "0f8fad5b-d9cb-469f-a165-70867728950e"}
    templates = {template["name"]: template for template in spec["templates"]}
    tasks = {task["name"]: task for task in templates[spec["entrypoint"]]["dag"]["tasks"]}
    order = TopologicalSorter({name: task.get("dependencies", []) for name, task in tasks.items()})
    run = Walk()
    for name in order.static_order():
        task = tasks[name]
        before = [run.status[needed] for needed in task.get("dependencies", [])]
        if any(status not in ("Succeeded", "Skipped") for status in before):
            run.status[name] = "Omitted"
        elif "when" in task and not _holds(filled_in(task["when"], known)):
            run.status[name] = "Skipped"
        else:
            known |= _run_task(run, task, templates[task["template"]], known, work)
    return run


def _run_task(
    run: Walk, task: Mapping[str, Any], template: Mapping[str, Any], known: Mapping[str, str], work: Work
) -> dict[str, str]:
    """Runs a task, and tells what later ones know of it."""
    arguments = filled_in(task.get("arguments", {}).get("parameters", []), known)
    inputs = {f"inputs.parameters.{argument['name']}": argument["value"] for argument in arguments}
    wanted = {f"inputs.parameters.{place['name']}" for place in template.get("inputs", {}).get("parameters", [])}
    assert inputs.keys() == wanted, f"{task['name']} gets {sorted(inputs)} and its template wants {sorted(wanted)}"
    # A template knows the workflow and its inputs, and nothing of other tasks.
    own = {name: value for name, value in known.items() if name.startswith("workflow.")} | inputs
    name = task["name"]
    run.templates[name] = filled_in(template, own)
    run.ran.append(name)
    outputs = work(run.templates[name])
    run.status[name] = "Failed" if outputs is None else "Succeeded"
    if outputs is None:
        return {}
    promised = {output["name"] for output in template.get("outputs", {}).get("parameters", [])}
    assert outputs.keys() == promised, f"{name} puts out {sorted(outputs)} and its template promises {sorted(promised)}"
    return {f"tasks.{name}.outputs.parameters.{key}": value for key, value in outputs.items()}


def filled_in(value: Any, known: Mapping[str, str]) -> Any:
    """A value with everything in `{{...}}` replaced, as Argo does it: in the JSON of the whole.

    Raises:
        Unresolved: something in it is not known.
    """

    def replace(place: re.Match[str]) -> str:
        name = place[1].strip()
        if name not in known:
            raise Unresolved(f"{{{{{name}}}}} is not known here; known: {', '.join(sorted(known))}")
        return json.dumps(known[name])[1:-1]

    return json.loads(_PLACE.sub(replace, json.dumps(value)))


def _holds(when: str) -> bool:
    found = _WHEN.fullmatch(when)
    assert found is not None, f"not a comparison of numbers: {when}"
    return _COMPARE[found[2]](float(found[1]), float(found[3]))
