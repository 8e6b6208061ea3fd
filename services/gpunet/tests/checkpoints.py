"""Writes checkpoints as torch.save does, without torch: the same zip, the same pickle, the same names in it."""

import argparse
import io
import pickle
import sys
import types
import zipfile
from collections import OrderedDict

import numpy as np

_STORAGES = {"<f4": "FloatStorage", "<f2": "HalfStorage", "<i8": "LongStorage", "<f8": "DoubleStorage"}


class _Pickler(pickle.Pickler):
    def __init__(self, file, storages):
        super().__init__(file, protocol=2)
        self._storages = storages

    def persistent_id(self, item):
        if isinstance(item, _Storage):
            key = str(len(self._storages))
            self._storages.append(item.values)
            kind = getattr(sys.modules["torch"], _STORAGES[item.values.dtype.str])
            return ("storage", kind, key, "cpu", item.values.size)
        return None

    def reducer_override(self, item):
        if isinstance(item, np.ndarray):
            strides = tuple(stride // item.itemsize for stride in item.strides)
            rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
            return rebuild, (_Storage(item.reshape(-1)), 0, item.shape, strides, False, OrderedDict())
        return NotImplemented


class _Storage:
    def __init__(self, values):
        self.values = values


def saved(content, *, folder="archive"):
    """Returns the bytes of a checkpoint; arrays in `content` become tensors."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in _STORAGES.values():
        kind = type(name, (), {"__module__": "torch"})
        kind.__qualname__ = name
        setattr(torch, name, kind)

    def _rebuild_tensor_v2(*_):
        raise AssertionError("only its name is used")

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    file, storages = io.BytesIO(), []
    before = {name: sys.modules.get(name) for name in ("torch", "torch._utils")}
    sys.modules |= {"torch": torch, "torch._utils": utils}
    try:
        _Pickler(file, storages).dump(content)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return archive({"data.pkl": file.getvalue(), **{f"data/{n}": s.tobytes() for n, s in enumerate(storages)}}, folder)


def archive(entries, folder="archive", compression=zipfile.ZIP_STORED):
    """Returns a zip of these entries, as torch.save lays them out."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as target:
        for name, content in entries.items():
            target.writestr(f"{folder}/{name}", content)
    return data.getvalue()


def training_run(state_dict, average):
    """What a training script keeps: weights, their average, an optimizer, its command line."""
    return {
        "epoch": 449,
        "arch": "gpunet",
        "state_dict": OrderedDict(state_dict),
        "optimizer": {"state": {0: {"square_avg": np.ones(3, np.float32)}}, "param_groups": [{"lr": 0.1}]},
        "version": 2,
        "args": argparse.Namespace(lr=0.1, opt="rmsproptf"),
        "state_dict_ema": OrderedDict(average),
        "metric": 78.9,
    }
