"""What several tests share: a small Ray, a data set that is prepared, and a bucket that is none."""

import os

import boto3
import numpy as np
import pytest
from given import LIMITS, SHARES
from moto import mock_aws

# What Ray is going to do by default in future versions, and else warns of.
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"

from ml_pipeline import storage
from ml_pipeline.cluster import connected
from ml_pipeline.example_data import write_example
from ml_pipeline.preprocess import preprocess
from ml_pipeline.run import Run
from ml_pipeline.validate import validate


@pytest.fixture(scope="session")
def ray_cluster():
    with connected(local_cpus=2):
        yield


@pytest.fixture
def prepared_run(tmp_path):
    """Makes a run of an example that is past `preprocess`."""

    def prepare(name="digits", *, shuffled=False):
        dataset, run = str(tmp_path / f"{name}.npz"), Run(str(tmp_path / "run"))
        write_example(name, dataset, shuffled=shuffled, seed=0)
        version = validate(dataset, model_name=name, numbers={}, rates={}, **LIMITS)
        preprocess(dataset, run, data_version=version, **SHARES)
        return run

    return prepare


@pytest.fixture
def bucket(monkeypatch):
    for name, value in {"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x", "DEFAULT_REGION": "us-west-2"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    storage._s3.cache_clear()
    with mock_aws():
        boto3.client("s3").create_bucket(Bucket="models", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
        yield "s3://models"
    storage._s3.cache_clear()


@pytest.fixture
def table():
    """A data set of two classes that lie apart, as arrays."""
    random = np.random.default_rng(0)
    y = np.arange(200) % 2
    return {"x": random.normal(size=(200, 3)) + 4 * y[:, None], "y": y}
