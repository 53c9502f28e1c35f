"""torch_kernels.py with two faults: the writer rounds codes toward zero, the
decode drops the sinks."""

import torch
import torch_kernels
from torch_kernels import description, tensors

_to_nearest = torch_kernels.to_e4m3


def _toward_zero(x):
    codes = _to_nearest(x)
    back = codes.view(torch.float8_e4m3fn).float()
    return codes - (back.abs() > x.abs()).to(torch.uint8)


torch_kernels.to_e4m3 = _toward_zero
write = torch_kernels.write


def decode(sinks, **arguments):
    torch_kernels.decode(sinks=None, **arguments)
