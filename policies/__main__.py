"""Serves the rules as a Pulumi policy pack; the engine starts this folder, which is then the first import path."""

from pulumi_policy import EnforcementLevel, PolicyPack
from rules import ALL

PolicyPack("eksai", list(ALL), enforcement_level=EnforcementLevel.MANDATORY)
