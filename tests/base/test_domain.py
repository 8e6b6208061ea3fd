"""The certificate of the platform's domain."""

import pulumi
import pulumi_random as random

from components.base.domain import DomainArgs, DomainSettings, PlatformDomain, make_domain
from localcloud.rehearsal import Stage
from localcloud.values import UNKNOWN
from tests.world import Built, run

ARGS = DomainArgs(name="ml.example.com", zone_id="Z0123456789ABCDEFGHIJ", inbound_cidrs=["203.0.113.0/24"])
CERTIFICATE, RECORD, VALIDATION = (
    "aws:acm/certificate:Certificate",
    "aws:route53/record:Record",
    "aws:acm/certificateValidation:CertificateValidation",
)


def built(preview: bool = False) -> Built[PlatformDomain]:
    return run(lambda: PlatformDomain("domain", ARGS), preview=preview)


def test_the_certificate_is_for_the_domain_and_every_host_directly_below_it():
    certificate = built().only(CERTIFICATE).inputs
    assert certificate["domainName"] == "*.ml.example.com"
    assert certificate["subjectAlternativeNames"] == ["ml.example.com"]
    assert certificate["validationMethod"] == "DNS", "an e-mail would have to be answered at every renewal"


def test_one_record_proves_both_names():
    found = built()
    certificate, record = found.only(CERTIFICATE), found.only(RECORD)
    proofs = {option["resourceRecordName"] for option in certificate.outputs["domainValidationOptions"]}
    assert proofs == {record.inputs["name"]}, "a second record of the same name would be refused"
    assert record.inputs["type"] == "CNAME"
    assert record.inputs["zoneId"] == "Z0123456789ABCDEFGHIJ"


def test_a_record_that_is_there_is_not_taken_over():
    assert built().only(RECORD).inputs["allowOverwrite"] is False, "destroy would take the proof of another certificate"


def test_the_certificate_counts_once_it_is_issued():
    found = built()
    validation = found.only(VALIDATION)
    assert validation.inputs["validationRecordFqdns"] == [found.only(RECORD).outputs["fqdn"]]
    domain = found.result.domain
    assert found.value(domain.certificate_arn) == found.only(CERTIFICATE).outputs["arn"]
    assert (domain.name, domain.zone_id, domain.inbound_cidrs) == tuple(ARGS.values())


def test_whoever_uses_the_certificate_waits_for_its_proof():
    found = run(
        lambda: random.RandomPassword(
            "user", length=8, keepers={"arn": PlatformDomain("domain", ARGS).domain.certificate_arn}
        )
    )
    assert found.only(VALIDATION).urn in found.named("user").dependencies


def test_in_a_preview_the_record_is_there_though_its_name_is_not_known():
    assert built(preview=True).only(RECORD).inputs["name"] is UNKNOWN


def test_the_account_takes_it_in_this_order_and_lets_it_go_in_reverse():
    found = built()
    stage, urns = Stage(found.resources), [resource.urn for resource in found.resources]
    stage.make(urns)
    stage.delete(urns[::-1])
    assert stage.left == []


def test_a_stack_without_a_domain_makes_nothing():
    none = DomainSettings(name=None, zone_id=None, inbound_cidrs=[])
    found = run(lambda: make_domain(none, pulumi.ResourceOptions()))
    assert found.result is None
    assert found.resources == []


def test_a_stack_with_a_domain_gets_it():
    given = DomainSettings(name=ARGS["name"], zone_id=ARGS["zone_id"], inbound_cidrs=ARGS["inbound_cidrs"])
    found = run(lambda: make_domain(given, pulumi.ResourceOptions()))
    assert found.result is not None
    assert found.result.name == "ml.example.com"
    assert found.only(CERTIFICATE).name == "domain"
