"""Which chart brings the kinds of an API group, and which one serves them."""

CRDS = {
    "karpenter.sh": "karpenter-crd",
    "karpenter.k8s.aws": "karpenter-crd",
    "autoscaling.x-k8s.io": "karpenter-crd",
    "ray.io": "kuberay-operator",
    "argoproj.io": "argo-workflows",
    "monitoring.coreos.com": "prometheus-operator-crds",
    "external-secrets.io": "external-secrets",
    "generators.external-secrets.io": "external-secrets",
    "nvidia.com": "gpu-operator",
    "nfd.k8s-sigs.io": "gpu-operator",
    "resource.nvidia.com": "dra-driver-nvidia-gpu",
    "elbv2.k8s.aws": "aws-load-balancer-controller",
    "gateway.k8s.aws": "aws-load-balancer-controller",
    "aga.k8s.aws": "aws-load-balancer-controller",
    "cert-manager.io": "cert-manager",
    "acme.cert-manager.io": "cert-manager",
    "gateway.networking.k8s.io": "gateway-api",
    "agentgateway.dev": "agentgateway-crds",
    "kueue.x-k8s.io": "kueue",
    "jobset.x-k8s.io": "jobset",
    "trainer.kubeflow.org": "kubeflow-trainer",
    "serving.kserve.io": "kserve-crd",
    "keda.sh": "keda",
    "eventing.keda.sh": "keda",
    "clickhouse.com": "clickhouse-operator-helm",
}
"""The chart that brings the CRDs of an API group."""

CRDS_ONLY = frozenset({"karpenter-crd", "prometheus-operator-crds", "gateway-api", "agentgateway-crds", "kserve-crd"})
"""Charts that bring CRDs and run nothing, so that they need no node."""

CONTROLLERS = {"karpenter.sh": "karpenter", "karpenter.k8s.aws": "karpenter"}
"""The chart whose controller serves an API group: without it nothing of the group becomes ready or goes away."""
