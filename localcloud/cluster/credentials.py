"""What the parts of a control plane know each other by: certificates, keys, tokens; made once and kept in a folder."""

import json
import os
import secrets
from pathlib import Path

import trustme
import yaml

USERS = {
    "deployer": (),
    "controllers": ("system:masters",),
    "kwok": ("system:masters",),
    "system:kube-controller-manager": (),
    "system:kube-scheduler": (),
}
"""Users of the API server with their groups. What the deployer may do, access entries decide, as on EKS."""

DEPLOYER, CONTROLLERS = "deployer", "controllers"


class Credentials:
    """The credentials of one control plane.

    Args:
        folder: where they are kept, readable for their owner only.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = folder / "authority.pem"
        """Certificate of the authority that has signed the others."""
        self.certificate, self.key = folder / "server.pem", folder / "server.key"
        """Certificate for 127.0.0.1, for servers and for the API server as a client of the store."""
        self.signing_key = folder / "service-accounts.key"
        """Signs the tokens of service accounts."""
        self.tokens = folder / "tokens.csv"

    def ensure(self) -> None:
        """Makes what is not there yet."""
        if self.tokens.exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        authority = trustme.CA()
        served, signing = authority.issue_cert("127.0.0.1", "localhost"), authority.issue_cert("service-accounts")
        self._write(self.authority, authority.cert_pem.bytes().decode())
        self._write(self.certificate, served.cert_chain_pems[0].bytes().decode())
        self._write(self.key, served.private_key_pem.bytes().decode())
        self._write(self.signing_key, signing.private_key_pem.bytes().decode())
        rows = [f'{secrets.token_hex(32)},{user},{user},"{",".join(groups)}"' for user, groups in USERS.items()]
        # The last one: whoever finds it finds the others too.
        self._write(self.tokens, "\n".join(rows) + "\n")

    def token(self, user: str) -> str:
        """Returns the token of a user."""
        rows = (line.split(",") for line in self.tokens.read_text().splitlines())
        return next(row[0] for row in rows if row[1] == user)

    def kubeconfig(self, user: str, server: str) -> Path:
        """Writes a kubeconfig by which a user speaks to the API server at an address, and returns its path."""
        path = self._folder / f"{user.rpartition(':')[2]}.kubeconfig"
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "local", "cluster": {"server": server, "certificate-authority": str(self.authority)}}
            ],
            "users": [{"name": user, "user": {"token": self.token(user)}}],
            "contexts": [{"name": "local", "context": {"cluster": "local", "user": user}}],
            "current-context": "local",
        }
        self._write(path, yaml.safe_dump(content))
        return path

    def exec_credential(self) -> Path:
        """Writes what `aws eks get-token` prints for the deployer, and returns its path."""
        path = self._folder / "deployer.json"
        answer = {
            "kind": "ExecCredential",
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "spec": {},
            "status": {"token": self.token(DEPLOYER)},
        }
        self._write(path, json.dumps(answer))
        return path

    def _write(self, path: Path, text: str) -> None:
        draft = path.with_suffix(f"{path.suffix}.tmp")
        draft.unlink(missing_ok=True)
        # 0600 from the first moment on.
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        draft.replace(path)
