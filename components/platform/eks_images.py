"""Where EKS keeps its images: in each region in a registry of AWS's, most of them in the same account.

Sources, read 2026-11-30: EKS user guide, "View Amazon container image registries for Amazon EKS add-ons"; for Israel
and Mexico the GuardDuty user guide, whose EKS agent lies in the same registries.
"""

from collections.abc import Mapping

from components.partition import dns_suffix_of

_USUAL_ACCOUNT = "602401143452"
_ACCOUNTS: Mapping[str, str] = {
    "af-south-1": "877085696533",
    "ap-east-1": "800184023465",
    "ap-east-2": "533267051163",
    "ap-south-2": "900889452093",
    "ap-southeast-3": "296578399912",
    "ap-southeast-4": "491585149902",
    "ap-southeast-5": "151610086707",
    "ap-southeast-6": "333609536671",
    "ap-southeast-7": "121268973566",
    "cn-north-1": "918309763551",
    "cn-northwest-1": "961992271922",
    "eu-central-2": "900612956339",
    "eu-south-1": "590381155156",
    "eu-south-2": "455263428931",
    "il-central-1": "066635153087",
    "me-central-1": "759879836304",
    "me-south-1": "558608220178",
    "mx-central-1": "730335286997",
    "us-gov-east-1": "151742754352",
    "us-gov-west-1": "013241004608",
}


def repository(region: str, image: str) -> str:
    """The address of one of EKS's images in a region, without tag.

    Args:
        region: AWS region.
        image: the image's name, such as `eks/aws-efa-k8s-device-plugin`.
    """
    return f"{_ACCOUNTS.get(region, _USUAL_ACCOUNT)}.dkr.ecr.{region}.{dns_suffix_of(region)}/{image}"
