"""What a module under test may use of mlafuzz. It need not use any of it.

A target is a module, or an object in one, with any of the functions write,
gather, convert and decode (docs/attach-python.md), and beside them

    description  text: a TargetDescription (kernels/foreign/description.proto)
    tensors      what the functions get: "numpy" (default; bfloat16 as uint16),
                 "ml_dtypes" (numpy, bfloat16 as ml_dtypes.bfloat16), "torch",
                 "cupy" or "jax"

Target is such an object.
"""

import dataclasses
import typing

__all__ = ["Refused", "Skip", "Target", "to_text"]


class Refused(Exception):
    """The host check says no; nothing was written. Say why, with numbers."""


class Skip(Exception):
    """The function cannot express this call; it counts as not made."""


@dataclasses.dataclass
class Target:
    """Kernels and what they promise."""

    name: str = ""
    version: str = ""
    # A mlafuzz.Contract (corpus/contract.proto): as text, or as a dict whose
    # enum values are strings, {"writer": {"inputs": ["BF16"]}}.
    contract: str | dict = ""
    devices: typing.Sequence[str] = ()  # "HOST", "CUDA"; none: HOST
    tensors: str = "numpy"
    write: typing.Callable | None = None
    gather: typing.Callable | None = None
    convert: typing.Callable | None = None
    decode: typing.Callable | None = None

    @property
    def description(self):
        contract = self.contract
        if not isinstance(contract, str):
            contract = to_text(contract)
        fields = {"name": _quoted(self.name), "version": _quoted(self.version)}
        lines = [f"{k}: {v}" for k, v in fields.items() if v != '""']
        lines.append(f"contract {{ {contract} }}")
        lines += [f"devices: {device}" for device in self.devices]
        return "\n".join(lines)


def to_text(fields):
    """A protobuf message in text form from a dict of its fields."""
    words = []
    for name, value in fields.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, dict):
                words.append(f"{name} {{ {to_text(one)} }}")
            elif isinstance(one, bool):
                words.append(f"{name}: {str(one).lower()}")
            else:
                words.append(f"{name}: {one}")
    return " ".join(words)


def _quoted(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n") + '"'
