"""Every rule of the pack, in the order in which findings are reported."""

from pulumi_policy import Policy

from . import (
    accelerator_launch_templates_tainted,
    accelerator_pools_tainted_and_limited,
    api_endpoint_not_open,
    buckets_encrypted_with_customer_key,
    instance_metadata_protected,
    node_volumes_encrypted,
    stores_encrypted_with_customer_key,
)

ALL: tuple[Policy, ...] = (
    accelerator_pools_tainted_and_limited.RULE,
    accelerator_launch_templates_tainted.RULE,
    stores_encrypted_with_customer_key.RULE,
    buckets_encrypted_with_customer_key.RULE,
    node_volumes_encrypted.RULE,
    instance_metadata_protected.RULE,
    api_endpoint_not_open.RULE,
)
