"""From a file or a bucket to a warm backend: checks, versions, conversion, and no silent fall-back."""

import hashlib
import http.server
import json
import threading

import numpy as np
import pytest
from checkpoints import saved, training_run

from gpunet.cli import run
from gpunet.model import onnx_backend
from gpunet.model.backend import ModelInfo, StubBackend, buckets_up_to
from gpunet.model.convert import convert
from gpunet.model.errors import ModelCorrupt, ModelMissing, ProviderMissing, WrongModel
from gpunet.model.loading import ModelChoice, load
from gpunet.model.source import S3Object, read_model

INFO = ModelInfo("", "", "", "", "", "", 0)


@pytest.fixture
def bucket(monkeypatch):
    """An S3 that knows GetObject: `contents` by path, `asked` with the queries; `breaks` cuts so many answers short."""

    class Bucket(http.server.BaseHTTPRequestHandler):
        contents, asked, breaks = {}, [], 0

        def do_GET(self):
            self.asked.append(self.path)
            body = self.contents.get(self.path.partition("?")[0])
            if body is None:
                body = b"<Error><Code>NoSuchKey</Code></Error>"
                self.send_response(404)
            else:
                self.send_response(200)
                self.send_header("x-amz-version-id", "v.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if Bucket.breaks:
                Bucket.breaks -= 1
                body = body[: len(body) // 2]
                self.close_connection = True
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in {
        "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-west-2",
        "AWS_DEFAULT_REGION": "us-west-2",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    yield Bucket
    server.shutdown()
    server.server_close()


def test_a_file_is_read_before_the_bucket_is_asked(tmp_path, bucket):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"here")

    assert read_model(path, S3Object("b", "k"), None).version == "file"
    assert not bucket.asked


def test_where_there_is_no_file_the_object_is_read_with_its_version(tmp_path, bucket):
    bucket.contents["/b/models/gpunet-0.ONNX"] = b"there"
    found = read_model(tmp_path / "none", S3Object("b", "models/gpunet-0.ONNX"), None)

    assert (found.data, found.suffix, found.version) == (b"there", ".onnx", "v.1")
    assert found.sha256 == hashlib.sha256(b"there").hexdigest()


def test_a_version_that_is_set_is_the_one_that_is_asked_for(bucket):
    bucket.contents["/b/k.pth"] = b"x"
    read_model(None, S3Object("b", "k.pth", "v.7"), None)

    assert "versionId=v.7" in bucket.asked[0]


def test_a_download_that_breaks_off_is_begun_anew(bucket):
    bucket.contents["/b/k.pth"] = b"x" * 4096
    bucket.breaks = 2

    assert len(read_model(None, S3Object("b", "k.pth"), None).data) == 4096
    assert len(bucket.asked) == 3


def test_a_download_that_always_breaks_off_ends(bucket):
    bucket.contents["/b/k.pth"] = b"x" * 4096
    bucket.breaks = 99

    with pytest.raises(ModelMissing, match="broke off 3 times"):
        read_model(None, S3Object("b", "k.pth"), None)


def test_a_missing_object_names_what_to_check(bucket):
    with pytest.raises(ModelMissing, match=r"s3://b/k.pth cannot be read \(NoSuchKey\).*s3:GetObject"):
        read_model(None, S3Object("b", "k.pth"), None)


def test_other_bytes_than_the_promised_ones_are_refused(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"here")
    digest = hashlib.sha256(b"here").hexdigest()

    assert read_model(path, None, digest.upper()).sha256 == digest
    with pytest.raises(ModelCorrupt, match="MODEL_SHA256"):
        read_model(path, None, "0" * 64)


def test_without_any_model_the_ways_out_are_named(tmp_path):
    with pytest.raises(ModelMissing, match=r"MODEL_PATH .* S3_BUCKET_NAME .* GPUNET_RANDOM_WEIGHTS"):
        read_model(None, None, None)
    with pytest.raises(ModelMissing, match="no file"):
        read_model(tmp_path / "none", None, None)


def test_an_onnx_file_is_served_as_what_it_says_it_is(model_file):
    backend = load(ModelChoice(path=model_file, most_batch=2))

    assert backend.info.weights == "ema"
    assert backend.info.provider == "CPUExecutionProvider"
    assert backend.info.resolution == 320
    assert backend.buckets == (1, 2)


def test_a_checkpoint_is_served_without_a_conversion_beforehand(tmp_path, weights):
    path = tmp_path / "gpunet-0.pth"
    path.write_bytes(saved(training_run(weights, weights)))
    backend = load(ModelChoice(path=path, most_batch=1))

    assert (backend.info.weights, backend.info.precision) == ("ema", "fp32")


def test_unknown_suffixes_are_refused(tmp_path):
    path = tmp_path / "model.h5"
    path.write_bytes(b"x")
    with pytest.raises(WrongModel, match=r"ends in \.onnx, "):
        load(ModelChoice(path=path))


def test_a_graph_of_another_form_is_refused(tmp_path):
    from onnx import TensorProto, helper

    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 224, 224])
    taken = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 224, 224])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [given], [taken])
    path = tmp_path / "other.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())

    with pytest.raises(WrongModel, match="make it with `gpunet convert`"):
        load(ModelChoice(path=path))


def test_bytes_that_are_no_graph_are_called_corrupt(tmp_path):
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"nothing" * 100)
    with pytest.raises(ModelCorrupt):
        load(ModelChoice(path=path))


def test_a_runtime_without_cuda_does_not_serve_cuda(model_file):
    with pytest.raises(ProviderMissing, match="CUDAExecutionProvider was asked for"):
        load(ModelChoice(path=model_file, device="cuda"))


def test_a_runtime_that_falls_back_to_the_cpu_is_found_out(monkeypatch, graph):
    """As onnxruntime-gpu does on a node whose driver is too old: no error, another provider."""
    real = onnx_backend.onnxruntime.InferenceSession

    class Runtime:
        SessionOptions = onnx_backend.onnxruntime.SessionOptions

        @staticmethod
        def preload_dlls():
            pass

        @staticmethod
        def get_available_providers():
            return ["CUDAExecutionProvider", "CPUExecutionProvider"]

        @staticmethod
        def InferenceSession(data, options, providers):
            return real(data, options, providers=["CPUExecutionProvider"])

    monkeypatch.setattr(onnx_backend, "onnxruntime", Runtime)
    with pytest.raises(ProviderMissing, match="the runtime took CPUExecutionProvider"):
        onnx_backend.OnnxBackend(graph, INFO, device="cuda", threads=1, buckets=(1,))


def test_half_precision_stays_near_and_says_how_near(tmp_path, weights):
    source = tmp_path / "run.pth.tar"
    source.write_bytes(saved(training_run(weights, weights)))
    manifest = convert(source, tmp_path / "half.onnx", ModelChoice(precision="fp16"))

    assert 0 < manifest["drift"] < 0.01
    assert manifest["bytes"] < 24_000_000
    assert manifest == json.loads((tmp_path / "half.manifest.json").read_text())
    assert manifest["sha256"] == hashlib.sha256((tmp_path / "half.onnx").read_bytes()).hexdigest()
    backend = load(ModelChoice(path=tmp_path / "half.onnx", sha256=manifest["sha256"], most_batch=1))
    assert (backend.info.precision, backend.info.weights) == ("fp16", "ema")


def test_the_command_converts_and_fails_with_words(tmp_path, capsys, weights):
    source = tmp_path / "run.pth"
    source.write_bytes(saved(weights))

    assert run(["convert", str(source), str(tmp_path / "m.onnx")]) == 0
    assert json.loads(capsys.readouterr().out)["weights"] == "plain"
    assert run(["convert", str(tmp_path / "none.pth"), str(tmp_path / "m.onnx")]) == 1
    assert "no file" in capsys.readouterr().err


def test_buckets_are_powers_of_two_and_the_largest():
    assert buckets_up_to(1) == (1,)
    assert buckets_up_to(6) == (1, 2, 4, 6)
    assert buckets_up_to(32) == (1, 2, 4, 8, 16, 32)


def test_the_answer_does_not_depend_on_the_batch(model_file):
    backend = load(ModelChoice(path=model_file, most_batch=4))
    images = np.random.default_rng(1).integers(0, 256, (4, 320, 320, 3), np.uint8)
    together = backend.run(images)
    alone = np.concatenate([backend.run(images[place : place + 1]) for place in range(4)])

    assert np.abs(together - alone).max() < 1e-5 * np.abs(alone).max()


def test_the_stub_takes_as_long_as_its_cost_model_says():
    import time

    backend = StubBackend(batch_ms=20, image_ms=5)
    started = time.perf_counter()
    backend.run(np.zeros((4, 320, 320, 3), np.uint8))

    assert 0.04 <= time.perf_counter() - started < 0.2
