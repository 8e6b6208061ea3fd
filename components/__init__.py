"""The component library: four layers (base, compute, platform, workloads) and what all of them share.

A layer never imports another; `__main__.py` alone joins them.
"""
