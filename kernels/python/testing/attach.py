"""Objects that cannot be attached, and some that can."""

import mlafuzz


def write(kv_c, k_pe, slot_mapping, cache):
    pass


class Nothing:
    pass


class NoFunction:
    write = 3


class FewArguments:
    def write(self, kv_c, k_pe):
        pass


class OddDescription:
    description = 3
    write = staticmethod(write)


class OddTensors:
    tensors = "lists"
    write = staticmethod(write)


class CannotBeMade:
    def __init__(self):
        raise OSError("no licence")


class Inner:
    class Deep:
        write = staticmethod(write)


as_text = mlafuzz.Target(
    name='a "quoted" name', version="3", contract="writer { scale: RAW }", write=write
)
as_dict = mlafuzz.Target(
    contract={
        "writer": {"scale": "POW2_CEIL", "inputs": ["BF16", "F16"], "floor_bits": 1},
    },
    devices=("HOST", "CUDA"),
    write=write,
)


class Refuses:
    def write(self, kv_c, k_pe, slot_mapping, cache):
        raise mlafuzz.Refused("4 columns, at most 3")


class Skips:
    def write(self, kv_c, k_pe, slot_mapping, cache):
        raise mlafuzz.Skip
