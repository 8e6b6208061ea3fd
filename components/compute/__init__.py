"""The compute layer: the cluster, its add-ons, its nodes and what makes nodes."""
