"""One engine process at a time, with exactly the environment it is given, that can be interrupted and waited for."""

import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any

from pulumi.automation import CommandResult, PulumiCommand
from pulumi.automation.errors import CommandError, create_command_error

from automation.engine import Engine


class EngineProcess(PulumiCommand):
    """The Automation API's way to run the engine.

    Unlike the stock one it hands down no variable of this process, so that a local run sees none of the user's cloud
    credentials, and it runs the engine in a process group of its own, so that Ctrl-C reaches the engine once and by us.
    """

    def __init__(self, engine: Engine) -> None:
        # Not super().__init__: it runs `pulumi version`, which has been asked for already.
        self.command = str(engine.path)
        self.version = engine.version
        self._running: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def interrupt(self) -> None:
        """Asks the running engine to stop after the operations in flight; a second time makes it stop at once.

        No command is started afterwards.
        """
        with self._lock:
            self._stopped = True
            if self._running is not None and self._running.poll() is None:
                self._running.send_signal(signal.SIGINT)

    @property
    def interrupted(self) -> bool:
        """Whether `interrupt` has been called."""
        return self._stopped

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Callable[[str], Any] | None = None,
        on_error: Callable[[str], Any] | None = None,
    ) -> CommandResult:
        """Runs one command; `additional_env` is the whole environment. Raises `CommandError` when it fails."""
        with self._lock:
            if self._stopped:
                raise CommandError(CommandResult("", "interrupted", 130))
            process = subprocess.Popen(
                [self.command, "--non-interactive", *args],
                cwd=cwd,
                env={**additional_env, "PULUMI_AUTOMATION_API": "true"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                process_group=0,
            )
            self._running = process
        errors: list[str] = []
        assert process.stdout is not None
        assert process.stderr is not None
        reader = threading.Thread(target=_read, args=(process.stderr, on_error, errors), daemon=True)
        reader.start()
        output: list[str] = []
        _read(process.stdout, on_output, output)
        reader.join()
        result = CommandResult("\n".join(output), "\n".join(errors), process.wait())
        if result.code != 0:
            raise create_command_error(result)
        return result


def _read(stream: IO[str], callback: Callable[[str], Any] | None, lines: list[str]) -> None:
    for line in stream:
        lines.append(line.rstrip())
        if callback is not None:
            callback(lines[-1])
    stream.close()
