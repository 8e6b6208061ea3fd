"""The ports that pods of a Ray cluster listen on, and how KubeRay labels the head."""

from collections.abc import Mapping

GCS = 6379
"""The head's store. Only pods of the cluster use it: a driver that joins here needs every other port too."""
DASHBOARD = 8265
"""The head's dashboard, and the API that takes jobs."""
CLIENT = 10001
"""Where the head takes Ray Clients."""
METRICS = 8080
"""Metrics of Ray itself, on every pod."""
AUTOSCALER_METRICS = 44217
"""Metrics of the autoscaler, on the head."""
DASHBOARD_METRICS = 44227
"""Metrics of the dashboard, on the head."""

HEAD: Mapping[str, str] = {"ray.io/node-type": "head"}
"""The label of heads, and of what the Services in front of them select."""
