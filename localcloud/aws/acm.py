"""Certificate Manager: certificates, and the proof that their domains are one's own."""

import hashlib
from typing import TYPE_CHECKING, Any

from localcloud.aws.load_balancers import LOAD_BALANCER
from localcloud.aws.route53 import RECORD, absolute
from localcloud.checks import at_most_one, matches, one_of
from localcloud.errors import AwsError
from localcloud.resource_type import Api, OnDelete, Properties, Refers, ResourceType
from localcloud.templates import Draws
from localcloud.values import UNKNOWN, contains_unknown

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

CERTIFICATE = "aws:acm/certificate:Certificate"
VALIDATION = "aws:acm/certificateValidation:CertificateValidation"

_NAME = r"(\*\.)?([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"


def _names(properties: Properties, _: Draws) -> Any:
    """All names of a certificate, as AWS reports its alternative names: the first one is among them."""
    first, others = properties.get("domainName"), properties.get("subjectAlternativeNames") or []
    if contains_unknown([first, others]):
        return UNKNOWN
    return list(dict.fromkeys([*([first] if first else []), *others]))


def _validation_options(properties: Properties, draws: Draws) -> Any:
    """The record that proves each name.

    An account has one record for a domain: the same for a wildcard and what the wildcard stands before, and the same
    for every certificate.
    """
    names = properties["subjectAlternativeNames"]
    if draws.withheld or contains_unknown(names):
        return UNKNOWN
    if properties["validationMethod"] != "DNS":
        return []
    account_id = properties["arn"].split(":")[4]
    return [_proof(account_id, name) for name in names]


def _proof(account_id: str, name: str) -> dict[str, str]:
    domain = name.removeprefix("*.").lower()
    digest = hashlib.sha512(f"{account_id}/{domain}".encode()).hexdigest()
    return {
        "domainName": name,
        "resourceRecordName": f"_{digest[:32]}.{domain}.",
        "resourceRecordType": "CNAME",
        "resourceRecordValue": f"_{digest[32:64]}.{digest[64:74]}.acm-validations.aws.",
    }


def _is_held_by_nobody(account: "Account", certificate: "Record") -> None:
    for balancer in account.find(LOAD_BALANCER):
        if certificate["arn"] in (balancer["certificates"] or ()):
            raise AwsError("ResourceInUseException", f"certificate {certificate['arn']} is in use by {balancer['arn']}")


def _is_proven(account: "Account", validation: "Record") -> None:
    """The provider waits 75 minutes for what is refused here at once."""
    certificate = next(account.find(CERTIFICATE, arn=validation["certificateArn"]))
    if certificate["validationMethod"] != "DNS":
        raise AwsError("PENDING_VALIDATION", f"{certificate['arn']} waits for somebody to answer an e-mail")
    told = validation["validationRecordFqdns"]
    for proof in certificate["domainValidationOptions"]:
        name = absolute(proof["resourceRecordName"])
        if told and name not in map(absolute, told):
            raise AwsError("InvalidParameter", f"missing {proof['domainName']} DNS validation record: {name}")
        records = account.find(RECORD, fqdn=name, type=proof["resourceRecordType"])
        if not any(absolute(proof["resourceRecordValue"]) in map(absolute, record["records"]) for record in records):
            raise AwsError(
                "PENDING_VALIDATION",
                f"{certificate['arn']} is not issued: {name} does not lead to {proof['resourceRecordValue']}",
            )


TYPES = (
    ResourceType(
        CERTIFICATE,
        id="arn:{partition}:acm:{region}:{account}:certificate/{uuid}",
        outputs={
            "arn": "{id}",
            "subjectAlternativeNames": _names,
            "domainValidationOptions": _validation_options,
            # The provider reads it right after the request; it shows in the next refresh that it was issued.
            "status": "PENDING_VALIDATION",
            "type": "AMAZON_ISSUED",
            "renewalEligibility": "INELIGIBLE",
            "pendingRenewal": False,
            "validationEmails": [],
        },
        defaults={"keyAlgorithm": "RSA_2048", "validationMethod": "EMAIL"},
        required=("domainName",),
        replaces=("domainName", "subjectAlternativeNames", "validationMethod", "keyAlgorithm", "validationOptions"),
        unordered=("subjectAlternativeNames",),
        checks=(
            # 64 octets is what the name of a certificate's subject has room for; alternative names have 253.
            matches("domainName", rf"(?=.{{1,64}}$){_NAME}", "a domain of 64 characters at most"),
            matches("subjectAlternativeNames", rf"(?=.{{1,253}}$){_NAME}", "a domain of 253 characters at most"),
            one_of("validationMethod", ("DNS", "EMAIL", "HTTP")),
            at_most_one("validationMethod", "certificateAuthorityArn"),
        ),
        api=Api(
            "acm",
            "RequestCertificate",
            {"validationOptions": "DomainValidationOptions", "earlyRenewalDuration": "", "tags": ""},
        ),
        releases=(_is_held_by_nobody,),
        tagged=True,
    ),
    ResourceType(
        VALIDATION,
        # The provider takes the time of issue for it.
        id="{uuid}",
        required=("certificateArn",),
        replaces=("certificateArn", "validationRecordFqdns"),
        unordered=("validationRecordFqdns",),
        # AWS has nothing of the kind: it is the provider's wait.
        refers=(
            Refers(
                "certificateArn",
                CERTIFICATE,
                "ResourceNotFoundException",
                by=("arn",),
                on_delete=OnDelete.IGNORE,
            ),
        ),
        admits=(_is_proven,),
    ),
)
