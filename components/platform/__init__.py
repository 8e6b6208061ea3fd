"""The platform layer: what runs in the cluster for those who work on it."""
