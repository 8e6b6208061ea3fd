"""The platform's web applications: where each is reached, with a domain and without."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class WebApp:
    """An application that people open in a browser."""

    name: str
    """The chart or the workload that it belongs to; also the name of its sign-in client."""
    host_label: str
    """First label of its host below the platform's domain."""
    namespace: str
    """Namespace of its Service."""
    service: str
    """Its Service, which is of type ClusterIP."""
    port: int
    """The Service's port."""
    local_port: int
    """The port of this machine that `eksai open` forwards; sign-in knows it, so that it is always the same."""
    callback_path: str | None
    """Where the user pool sends people back to after sign-in; None where it does not sign people in itself."""
    is_published: bool
    """Whether it gets a host where there is a domain."""

    def url(self, domain: str | None) -> str:
        """Where a browser finds it, without a slash at the end.

        Args:
            domain: the platform's domain; None: it is forwarded to this machine.
        """
        if domain is None or not self.is_published:
            return f"http://localhost:{self.local_port}"
        return f"https://{self.host(domain)}"

    def host(self, domain: str) -> str:
        """Its host below a domain."""
        return f"{self.host_label}.{domain}"

    def callback_url(self, domain: str | None) -> str | None:
        """Where the user pool sends people back to, None where it signs nobody in."""
        return None if self.callback_path is None else f"{self.url(domain)}{self.callback_path}"


WEB_APPS: Mapping[str, WebApp] = {
    app.name: app
    for app in (
        WebApp("jupyterhub", "jupyter", "jupyterhub", "proxy-public", 80, 8000, "/hub/oauth_callback", True),
        WebApp("argo-workflows", "argo", "argo", "argo-workflows-server", 2746, 2746, "/oauth2/callback", True),
        WebApp("langfuse", "langfuse", "langfuse", "langfuse-web", 3000, 3000, "/api/auth/callback/cognito", True),
        # Whoever has the cluster's token may run anything on it: the dashboard stays inside.
        WebApp("ml-cluster", "ray", "ray-system", "ml-cluster-head-svc", 8265, 8265, None, False),
        # Where it is published it has a load balancer of its own, and a host that the stack may choose.
        WebApp("gpunet", "gpunet", "gpunet", "gpunet", 80, 8081, None, False),
    )
}
"""Every application by its name. Names and ports of the Services are those that the charts give them."""
