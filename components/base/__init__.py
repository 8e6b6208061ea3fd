"""The base layer: what stands before there is a cluster (network, key, stores)."""
