"""The command `gpunet`: serve, convert a checkpoint, ask a service."""

import argparse
import json
import os
import sys
from pathlib import Path

from pydantic import ValidationError

from gpunet.model.errors import ModelError


def main() -> None:
    """Runs the command and ends the process with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Runs the command.

    Returns:
        The exit code: 0, 1 for what went wrong, 2 for wrong usage.
    """
    options = _parser().parse_args(arguments)
    try:
        return {"serve": _serve, "convert": _convert, "classify": _classify}[options.command](options)
    except ModelError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpunet", description="Image classification with GPUNet-0 over HTTP.")
    commands = parser.add_subparsers(dest="command", required=True)

    serve = commands.add_parser("serve", help="serve; everything is set by the environment, see the README")
    serve.add_argument(
        "--random-weights", action="store_true", help="no model: seeded random weights, senseless labels"
    )

    convert = commands.add_parser("convert", help="make the ONNX file that a service should load, and its manifest")
    convert.add_argument("source", type=Path, help="a .pth or .safetensors file")
    convert.add_argument("target", type=Path, help="the .onnx file to write")
    convert.add_argument("--precision", choices=["fp32", "fp16"], default="fp32")
    convert.add_argument(
        "--weights", choices=["auto", "ema", "raw"], default="auto", help="default: the average if any"
    )
    convert.add_argument("--resolution", type=int, default=320, help="pixels; accuracy is published for 320 only")
    convert.add_argument("--sha256", help="what the source must hash to")

    classify = commands.add_parser("classify", help="ask a service for an image's labels")
    classify.add_argument("image", help="a file, or a URL that the service fetches")
    classify.add_argument("--server", default="http://127.0.0.1:8080", help="default: %(default)s")
    classify.add_argument("--top-k", type=int, default=5)
    return parser


def _serve(options: argparse.Namespace) -> int:
    # Imported late: other commands need none of it.
    from gpunet.server import serve
    from gpunet.settings import Settings

    if options.random_weights:
        os.environ["GPUNET_RANDOM_WEIGHTS"] = "true"
    try:
        settings = Settings()
    except ValidationError as error:
        # Values may be anything, the message of each rule is ours or pydantic's.
        for problem in error.errors(include_url=False, include_input=False):
            name = ".".join(map(str, problem["loc"])) or "settings"
            print(f"{name.upper()}: {problem['msg']}", file=sys.stderr)
        return 1
    return serve(settings)


def _convert(options: argparse.Namespace) -> int:
    from gpunet.model.convert import convert
    from gpunet.model.loading import ModelChoice

    choice = ModelChoice(
        weights=options.weights, precision=options.precision, resolution=options.resolution, sha256=options.sha256
    )
    print(json.dumps(convert(options.source, options.target, choice), indent=2))
    return 0


def _classify(options: argparse.Namespace) -> int:
    from gpunet.client import AskFailed, ask

    try:
        answer = ask(options.server, options.image, options.top_k)
    except AskFailed as error:
        print(error, file=sys.stderr)
        return 1
    for found in answer["predictions"]:
        print(f"{100 * found['probability']:5.1f} %  {found['label']}  ({found['wnid']})")
    return 0
