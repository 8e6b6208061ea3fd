"""Builds the Pulumi engine from Go modules, for machines that reach package registries but no installer."""
