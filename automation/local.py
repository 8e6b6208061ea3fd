"""A stack on the local cloud: its folders, its server, and the environment that leads an engine there."""

import fcntl
import os
import secrets
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO

from automation.engine import Engine, KubernetesPrograms, find_kubernetes
from automation.errors import CloudFailed
from automation.project import Project
from localcloud.process import CloudNotStarted, CloudProcess, Status, debug_providers
from localcloud.server import BIN
from schema.problems import NAMESPACE

PRIVATE = ("AWS_", "PULUMI_", "KUBECONFIG", "GOOGLE_", "AZURE_", "ARM_")
"""Variables that could lead a local run to somebody's real account, backend or cluster start like this."""


class LocalCloud:
    """The local cloud of one stack: AWS simulated, Kubernetes simulated or real.

    Kept under `.local/<stack>/` in the project, in `simulated/` or `kubernetes/`: the two share nothing.
    """

    def __init__(self, project: Project, stack: str, *, kubernetes: bool = False) -> None:
        project.stack_file(stack)
        self.project = project
        self.stack = stack
        self.folder = project.root / ".local" / stack / ("kubernetes" if kubernetes else "simulated")
        self.work = self.folder / "work"
        self.passphrase_file = self.folder / "passphrase"
        self.kubernetes = kubernetes
        self.notices: tuple[str, ...] = ()
        self._process = CloudProcess(self.folder / "cloud")

    @cached_property
    def _programs(self) -> KubernetesPrograms | None:
        return find_kubernetes() if self.kubernetes else None

    def start(self) -> int:
        """The port of the running server, which is started first if need be.

        Raises `CloudFailed` when it does not start, and `EngineMissing` when a real Kubernetes was not built.
        """
        try:
            return self._process.start(kube=self._programs and self._programs.kube)
        except CloudNotStarted as error:
            raise CloudFailed(str(error)) from error

    def stop(self) -> bool:
        """Ends the server; what it keeps stays on disk. False when it did not run."""
        self._kept.unlink(missing_ok=True)
        return self._process.stop()

    def restart(self) -> None:
        """Starts a running server anew on the same port: the requests of an engine that is gone end with it."""
        port = self.status().port
        if port is not None:
            self._process.stop()
            self._process.start(port, kube=self._programs and self._programs.kube)

    def status(self) -> Status:
        """Whether the server runs, and what it keeps."""
        return self._process.status()

    @contextmanager
    def running(self) -> Generator[int]:
        """The port of a server that runs within the block; one that was started here is stopped at its end."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "users.lock").open("w") as users:
            # Shared by all that use the server at the moment; the kernel takes it back from one that is killed.
            fcntl.flock(users, fcntl.LOCK_SH)
            try:
                yield self.start()
            finally:
                if not self._kept.exists() and _is_last(users):
                    self.stop()

    def keep(self) -> int:
        """Starts the server if need be and lets it run until `stop`; returns its port."""
        port = self.start()
        self._kept.touch()
        return port

    @property
    def _kept(self) -> Path:
        """A file that says that the server shall outlive whoever uses it."""
        return self.folder / "cloud" / "kept"

    def reset(self) -> None:
        """Forgets the account, the engine's state and everything else of this stack's simulated cloud."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def variables(self, engine: Engine, port: int) -> dict[str, str]:
        """What an engine must be told to work on this cloud, beside an environment without `foreign_variables`."""
        for name in ("backend", "home", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        return {
            **self._helm_folders(),
            "EKSAI_LOCAL": "1",
            "EKSAI_PYTHON": sys.executable,
            # The engine looks for its language host here, and that one for the Python of this environment.
            "PATH": os.pathsep.join([*map(str, self._programs_folders(engine)), os.environ.get("PATH", os.defpath)]),
            # Without metadata: the engine writes it beside each file and not at once; a kill would leave a state that
            # cannot be loaded.
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'backend'}?metadata=skip",
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(self._written_passphrase()),
            "PULUMI_DEBUG_PROVIDERS": debug_providers(port, real_kubernetes=self._programs is not None),
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1",
            "PULUMI_HOME": str(self.folder / "home"),
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            # Providers leave files with credentials in the temporary folder.
            "TMPDIR": str(self.folder / "tmp"),
        }

    def config(self) -> dict[str, object]:
        """What the program is told in place of what the stack file says: where a real Helm finds charts to install.

        Raises `CloudFailed` when their CRDs cannot be had.
        """
        if not self.kubernetes:
            return {}
        # Simulated clouds need none of this.
        from automation.stand_ins import write_charts

        charts = self.folder / "charts"
        without = write_charts(charts)
        if without:
            self.notices = (f"No CRDs at hand for {', '.join(without)}: objects of their kinds will be refused.",)
        return {f"{NAMESPACE}:charts": {"mirror": str(charts)}}

    def _programs_folders(self, engine: Engine) -> list[Path]:
        folders = [engine.path.parent, Path(sys.executable).parent]
        if self._programs is None:
            return folders
        # The provider's plug-in, and an `aws` that has tokens for the local cluster only.
        return [self._programs.provider.parent, self.folder / "cloud" / BIN, *folders]

    def _helm_folders(self) -> dict[str, str]:
        """Keeps the Helm within the provider away from the repositories and caches of the user's own."""
        if self._programs is None:
            return {}
        helm = self.folder / "helm"
        return {f"HELM_{kind}_HOME": str(helm / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}

    def defaults(self) -> dict[str, str]:
        """Variables that give a plain `pulumi` in the project's folder the options that `eksai` gives it."""
        return {
            "PULUMI_STACK": self.stack,
            # The copy: what the engine writes into its stack file must not end up in the repository's.
            "PULUMI_OPTION_CONFIG_FILE": str(self.work / self.project.stack_file(self.stack).name),
            "PULUMI_OPTION_POLICY_PACK": str(self.project.root / "policies"),
        }

    def environment(self, engine: Engine, port: int) -> dict[str, str]:
        """The whole environment of an engine that works on this cloud."""
        foreign = foreign_variables()
        own = {name: value for name, value in os.environ.items() if name not in foreign}
        return {**own, **self.variables(engine, port)}

    def _written_passphrase(self) -> Path:
        path = self.passphrase_file
        if not path.exists():
            draft = path.with_suffix(".tmp")
            draft.unlink(missing_ok=True)
            # 0600 from the first moment on, not after a chmod.
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(32))
            draft.replace(path)
        return path


def _is_last(users: IO[str]) -> bool:
    """Whether nobody else holds the lock; if so it is held alone until it is closed."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def foreign_variables() -> list[str]:
    """The names of this process's variables that must not reach a local run."""
    return sorted(name for name in os.environ if name.startswith(PRIVATE))
