"""Stands for PyTorch on one GPU: shapes and strides without numbers, and TunableOp's look-ups as
PyTorch makes them. STUB_SOLUTIONS: the solutions that its libraries have; STUB_HIP: of ROCm."""
import os
import types

__version__ = "2.9.1"
version = types.SimpleNamespace(hip=os.environ.get("STUB_HIP") or None, cuda="13.0")
backends = types.SimpleNamespace(
    cuda=types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=False)))

float32, float64, float16, bfloat16 = "float", "double", "Half", "BFloat16"
float8_e4m3fn, float8_e5m2 = "Float8_e4m3fn", "Float8_e5m2"
float8_e4m3fnuz, float8_e5m2fnuz = "Float8_e4m3fnuz", "Float8_e5m2fnuz"


class Tensor:
    def __init__(self, shape, strides, dtype=float32):
        self.shape, self.strides, self.dtype = tuple(shape), tuple(strides), dtype

    def to(self, dtype):
        return Tensor(self.shape, self.strides, dtype)

    def __getitem__(self, index):
        assert index[0] in (Ellipsis, slice(None)) and index[1].start is None
        return Tensor(self.shape[:-1] + (index[1].stop,), self.strides, self.dtype)

    def transpose(self, a, b):
        assert (a, b) in ((-1, -2), (1, 2))
        swap = lambda values: values[:-2] + (values[-1], values[-2])
        return Tensor(swap(self.shape), swap(self.strides), self.dtype)

    def t(self):
        return self.transpose(-1, -2)


def rand(*shape, device):
    assert device == "cuda"
    shape = shape[0] if isinstance(shape[0], tuple) else shape
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return Tensor(shape, strides)


randn = rand


def ones(*shape, device):
    return rand(*(shape if shape[0] else (1,)), device=device)


def _call(kind, x, w, types, tail=""):
    from torch.cuda import tunable

    m, k = x.shape[-2:]
    n = w.shape[-1]
    assert w.shape[-2] == k
    # Column-major: their A is w, their B is x. A matrix whose rows are dense is not transposed.
    ta, tb = w.strides[-1] != 1, x.strides[-1] != 1
    leading = lambda tensor: max(tensor.strides[-2:])
    name = types
    if backends.cuda.matmul.allow_tf32 and types == "float":
        name = "tf32"
    op = "%s_%s_%s%s" % (kind, name, "NT"[ta], "NT"[tb])
    batch = "_B_%d" % x.shape[0] if len(x.shape) > 2 else ""
    tunable._look_up(op, "%s%s_%d_%d_%d%s_ld_%d_%d_%d%s" % (
        "nt"[ta], "nt"[tb], n, m, k, batch, leading(w), leading(x), n, tail))


def mm(x, w):
    _call("GemmTunableOp", x, w, x.dtype)


def bmm(x, w):
    _call("GemmStridedBatchedTunableOp", x, w, x.dtype)


def _scaled_mm(x, w, scale_a, scale_b, out_dtype, bias):
    _call("ScaledGemmTunableOp", x, w, "%s_%s_%s" % (w.dtype, x.dtype, out_dtype),
          "_rw_0_bias_%s" % (bias.dtype if bias else "None"))


nn = types.SimpleNamespace(functional=types.SimpleNamespace(
    linear=lambda x, w, bias=None: _call(
        "GemmAndBiasTunableOp" if bias else "GemmTunableOp", x, w.t(), x.dtype)))

from torch import cuda  # noqa: E402, as in PyTorch's own package
