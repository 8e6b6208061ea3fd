"""The charts that a local cloud with a real Kubernetes installs: a stand-in for every chart file of the components."""

import os
from collections.abc import Sequence
from pathlib import Path

import components
from automation.errors import CloudFailed
from components.release import read_chart
from localcloud.cluster.stand_in_charts import StandIn, write_stand_ins
from tools.engine.crds import crd_files
from tools.engine.errors import BuildError

_COMPONENTS = Path(components.__file__).parent
SCHEMAS = _COMPONENTS.parents[1] / "shared" / "schemas"
"""Where published CRDs lie unless `$EKSAI_SCHEMAS` names another folder; they may be absent."""


def write_charts(folder: Path) -> Sequence[str]:
    """Writes the stand-ins into a folder, those that changed only.

    Returns:
        The charts whose CRDs could not be had: objects of their kinds will be refused.

    Raises:
        CloudFailed: CRDs are to come from Go modules, and these cannot be fetched.
    """
    files = [read_chart(path) for path in sorted(_COMPONENTS.glob("*/charts/*.yaml"))]
    wanted = [StandIn(file.chart, file.version, file.crds) for file in files]
    given = Path(os.environ.get("EKSAI_SCHEMAS", SCHEMAS))
    try:
        found = crd_files(given if given.is_dir() else None, [one.chart for one in wanted])
    except BuildError as error:
        raise CloudFailed(str(error)) from error
    return write_stand_ins(folder, wanted, found.documents).without_crds
