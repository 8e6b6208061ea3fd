"""A cloud on this machine: AWS, Kubernetes and Helm as far as their rules can be kept without them."""
