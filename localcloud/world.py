"""A world in one process: runs a Pulumi program without an engine and keeps what it registered.

`eksai plan` and the unit tests stand on it.
"""

import asyncio
import contextvars
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import pulumi
from pulumi.runtime import run_in_stack, set_all_config
from pulumi.runtime.settings import Settings, configure, set_root_resource

from localcloud.monitor import Monitor
from localcloud.registration import InvalidResourceError, Invocation, Registration, UnsupportedRequestError

__all__ = ["InvalidResourceError", "Invocation", "Registration", "UnsupportedRequestError", "World"]

T = TypeVar("T")


class World:
    """A project's stack in which one program can run.

    Args:
        project: name of the project, which is the namespace of its configuration too.
        stack: name of the stack.
        config: configuration by full key (`eksai:network`), values as the engine passes them: text or JSON text.
        secret_keys: keys of `config` whose values are secrets.
        preview: whether what only creation decides is unknown, as in a first preview; else it gets plausible
            values, the same in every run.
    """

    def __init__(
        self,
        project: str,
        stack: str,
        config: Mapping[str, str],
        *,
        secret_keys: Collection[str] = (),
        preview: bool = False,
    ) -> None:
        self._project = project
        self._stack = stack
        self._config = dict(config)
        self._secret_keys = list(secret_keys)
        self._preview = preview
        default_provider = {"region": config["aws:region"]} if "aws:region" in config else {}
        self._monitor = Monitor(project, stack, preview=preview, default_provider=default_provider)

    def run(self, program: Callable[[], T]) -> T:
        """Runs the program, waits for everything that it started, and returns what it returned.

        Whatever the program raises, in an `apply` too, is raised here. A world runs one program, once; several
        worlds may run one after another, none sees what another one configured.
        """
        if self._monitor.resources:
            raise RuntimeError("This world has run already; make another one.")
        return contextvars.copy_context().run(self._run, program)

    @property
    def resources(self) -> list[Registration]:
        """Every registered resource, in the order of registration; the stack itself comes first."""
        return list(self._monitor.resources.values())

    @property
    def exports(self) -> dict[str, Any]:
        """The stack's outputs."""
        return self._monitor.exports

    @property
    def invokes(self) -> list[Invocation]:
        """Every call of a provider's function."""
        return self._monitor.invokes

    @property
    def messages(self) -> list[tuple[str, str]]:
        """What the program logged: severity (`info`, `warning`, `error`) and text."""
        return self._monitor.messages

    @staticmethod
    def value(output: pulumi.Input[T]) -> T | None:
        """Returns what an `Output` of a program that has run came to; None for an unknown one."""
        return asyncio.run(_value(output))

    def _run(self, program: Callable[[], T]) -> T:
        # All of Pulumi's state is in context variables: set in this copied context, it is gone afterwards.
        configure(
            Settings(
                project=self._project,
                stack=self._stack,
                monitor=self._monitor,
                engine=self._monitor,
                dry_run=self._preview,
            )
        )
        set_root_resource(None)  # pyright: ignore[reportArgumentType]
        set_all_config(self._config, self._secret_keys)
        results: list[T] = []
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            loop.set_default_executor(_InPlace())
            # A failure reaches every Output behind it, and nobody asks those; what the program raised is raised.
            loop.set_exception_handler(lambda _loop, _context: None)
            runner.run(run_in_stack(lambda: results.append(program())), context=contextvars.copy_context())
        return results[0]


class _InPlace(ThreadPoolExecutor):
    """Runs what the SDK wants a thread for, since it could block, at once: the monitor never blocks.

    Requests are so answered in the order in which the program makes them, the same in every run.
    """

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


async def _value(output: pulumi.Input[T]) -> T | None:
    return await pulumi.Output.from_input(output).future()
