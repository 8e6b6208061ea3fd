"""AWS services inside the VPC."""

from components.base.service_endpoints import ServiceEndpoints
from tests.world import run


def test_each_service_answers_under_its_own_name_in_every_zone():
    built = run(
        lambda: ServiceEndpoints(
            "endpoints",
            {
                "services": ["ecr.api", "sts"],
                "region": "us-west-2",
                "vpc_id": "vpc-1",
                "subnet_ids": ["subnet-a", "subnet-b"],
                "security_group_id": "sg-endpoints",
            },
        )
    )
    made = [endpoint.inputs for endpoint in built.all("aws:ec2/vpcEndpoint:VpcEndpoint")]
    assert [inputs["serviceName"] for inputs in made] == [
        "com.amazonaws.us-west-2.ecr.api",
        "com.amazonaws.us-west-2.sts",
    ]
    for inputs in made:
        assert inputs["vpcEndpointType"] == "Interface"
        assert inputs["subnetIds"] == ["subnet-a", "subnet-b"]
        assert inputs["securityGroupIds"] == ["sg-endpoints"]
        assert inputs["privateDnsEnabled"] is True
