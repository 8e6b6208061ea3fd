"""A real Kubernetes on loopback, and stand-ins for all that would run in it on AWS."""
