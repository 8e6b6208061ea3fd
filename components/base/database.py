"""RDS for PostgreSQL."""

import hashlib
import re
from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from components.base.store_group import make_store_group
from components.langfuse import DatabaseSettings, Endpoint

_PORT = 5432
_MAJOR = "17"
"""Minor versions come by themselves; the next major one is a decision, and a change of data on disk."""
_LOGS = ("postgresql", "upgrade")
_LOG_DAYS = 30
_LONGEST_IDENTIFIER = 63


class DatabaseArgs(DatabaseSettings):
    """What a database needs."""

    cluster_name: str
    """Names follow from it."""
    vpc_id: pulumi.Input[str]
    """The VPC."""
    ranges: Mapping[str, str]
    """The VPC's IPv4 ranges that may reach it, by what they are for: `nodes`, `pods`."""
    subnet_ids: Sequence[pulumi.Input[str]]
    """Subnets that it lies in, of two zones at least."""
    key_arn: pulumi.Input[str]
    """Key that data, backups, logs and statistics are encrypted with."""
    database: str
    """Name of the database in it."""
    username: str
    """The user that owns the database."""
    password: pulumi.Input[str]
    """The user's password, which is written and never read."""
    password_version: pulumi.Input[int]
    """Another number for another password."""
    keep: bool
    """Whether it is protected from deletion, by Pulumi and by AWS; else it goes with the stack, with all data and
    backups."""


class Database(pulumi.ComponentResource):
    """An encrypted PostgreSQL that answers over TLS only, and only inside the VPC.

    Where it is kept, a destroy that keeps data leaves what it stands on too: subnets and VPC, key, its groups and logs.
    Changes that restart it wait for its maintenance window.
    """

    endpoint: Endpoint
    """Where it is reached, once it lets the VPC in."""

    def __init__(self, name: str, args: DatabaseArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Database", name, {}, opts)
        self._child = child = pulumi.ResourceOptions(parent=self, protect=args["keep"] or None)
        cluster_name = args["cluster_name"]
        identifier = database_identifier(cluster_name, name)
        group_id = make_store_group(
            f"{name}-database",
            vpc_id=args["vpc_id"],
            description=f"PostgreSQL of {name} of {cluster_name}",
            group_name=f"{cluster_name}-{name}-database",
            port=_PORT,
            ranges=args["ranges"],
            opts=child,
        )
        subnets = aws.rds.SubnetGroup(
            name,
            description=f"PostgreSQL of {name} of {cluster_name}",
            subnet_ids=args["subnet_ids"],
            opts=child,
        )
        instance = aws.rds.Instance(
            name,
            identifier=identifier,
            engine="postgres",
            engine_version=_MAJOR,
            auto_minor_version_upgrade=True,
            instance_class=args["instance_class"],
            multi_az=args["multi_az"],
            db_name=args["database"],
            username=args["username"],
            password_wo=args["password"],
            password_wo_version=args["password_version"],
            iam_database_authentication_enabled=False,
            parameter_group_name=self._parameters(name, cluster_name).name,
            ca_cert_identifier="rds-ca-rsa2048-g1",
            port=_PORT,
            db_subnet_group_name=subnets.name,
            vpc_security_group_ids=[group_id],
            publicly_accessible=False,
            storage_type="gp3",
            storage_encrypted=True,
            kms_key_id=args["key_arn"],
            allocated_storage=args["storage_gib"],
            max_allocated_storage=args["max_storage_gib"],
            backup_retention_period=args["backup_days"],
            copy_tags_to_snapshot=True,
            delete_automated_backups=not args["keep"],
            deletion_protection=args["keep"],
            skip_final_snapshot=not args["keep"],
            final_snapshot_identifier=f"{identifier}-final" if args["keep"] else None,
            apply_immediately=False,
            # A week of it costs nothing, and neither does this mode.
            performance_insights_enabled=True,
            performance_insights_kms_key_id=args["key_arn"],
            performance_insights_retention_period=7,
            database_insights_mode="standard",
            enabled_cloudwatch_logs_exports=list(_LOGS),
            opts=pulumi.ResourceOptions.merge(
                child, pulumi.ResourceOptions(depends_on=self._log_groups(name, identifier, args["key_arn"]))
            ),
        )
        self.endpoint = Endpoint(instance.address, _PORT)
        self.register_outputs({})

    def _parameters(self, name: str, cluster_name: str) -> aws.rds.ParameterGroup:
        return aws.rds.ParameterGroup(
            name,
            family=f"postgres{_MAJOR}",
            description=f"PostgreSQL of {name} of {cluster_name}",
            parameters=[
                {"name": "rds.force_ssl", "value": "1"},
                # Langfuse takes every time without a zone for UTC.
                {"name": "timezone", "value": "UTC"},
            ],
            opts=self._child,
        )

    def _log_groups(self, name: str, identifier: str, key_arn: pulumi.Input[str]) -> list[aws.cloudwatch.LogGroup]:
        """The groups that RDS writes to. It would make them itself: without an end, and with a key of AWS's."""
        return [
            aws.cloudwatch.LogGroup(
                f"{name}-{log}",
                name=f"/aws/rds/instance/{identifier}/{log}",
                retention_in_days=_LOG_DAYS,
                kms_key_id=key_arn,
                opts=self._child,
            )
            for log in _LOGS
        ]


def database_identifier(cluster_name: str, what: str) -> str:
    """The name of a cluster's database in RDS, which its logs have too.

    RDS takes fewer names than EKS. A cluster's name that it would refuse is replaced by what is left of it and a
    digest, so that two clusters still have two.

    Args:
        cluster_name: the cluster.
        what: what the database is for.
    """
    longest = _LONGEST_IDENTIFIER - len(what) - 1
    stem = re.sub(r"[^a-z0-9]+", "-", cluster_name.lower()).strip("-")
    if stem != cluster_name or not stem[0].isalpha() or len(stem) > longest:
        digest = hashlib.sha256(cluster_name.encode()).hexdigest()[:10]
        stem = f"eksai-{stem[: longest - 17].strip('-')}-{digest}"
    return f"{stem}-{what}"
