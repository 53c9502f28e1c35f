"""Makes the calls of batch after batch: runner_loop.cc in Python."""

import struct
import sys
import time

from mlafuzz import Refused, Skip, _channel
from mlafuzz._arena import Arena
from mlafuzz._errors import BadResult, LoadError, in_one_line
from mlafuzz._load import ARGUMENTS
from mlafuzz._results import store_results

_RUN = struct.Struct("<QQQQII")
_CALL = struct.Struct("<IIIifIqqqqQ")
_TENSOR = struct.Struct("<IBBHQ6qQQ")
_RESULT = struct.Struct("<iIII")
_STRAY = struct.Struct("<IIqqq")
_MOST_MESSAGE = 4095  # bytes: wire::kMaxMessage less a closing zero

# MLAFUZZ_* of kernels/target.h, and of wire.h.
_OK, _REFUSED, _ERROR, _NOT_IMPLEMENTED = 0, 1, 2, 3
_NO_DEVICE_MEMORY, _NOT_CAPTURED = -1000, -1001
_GRAPH = 1

_CACHE = 0xFFFF
# Of each kernel: its arguments by TensorId (kernels/foreign/callee.h).
_TENSOR_NAMES = (
    {0: "kv_c", 1: "k_pe", 2: "slot_mapping", _CACHE: "cache"},
    {
        3: "dst",
        4: "block_table",
        5: "workspace_starts",
        6: "seq_lens",
        7: "seq_starts",
        19: "dst_scales",
        _CACHE: "cache",
    },
    {
        4: "block_table",
        8: "request_ids",
        9: "token_indices",
        10: "out",
        11: "valid_count",
        23: "prefill_request_ids",
        24: "prefill_workspace_starts",
    },
    {
        12: "q",
        13: "indices",
        14: "lengths",
        15: "sinks",
        16: "out",
        17: "lse",
        20: "extra_cache",
        21: "extra_indices",
        22: "extra_lengths",
        _CACHE: "cache",
    },
)
_NOTHING = tuple(dict.fromkeys(names) for names in ARGUMENTS.values())


def memory_for(target, device):
    """Where the calls' tensors are: an object with `device` and `how`, in
    words, and place() and settle()."""
    from mlafuzz import _frameworks, _host

    if device == "host":
        return _host.HostMemory(_frameworks.on_host(target.tensors))
    if target.tensors == "jax":
        return _host.HostMemory(_frameworks.jax_on_gpu(int(device)))
    from mlafuzz import _cuda

    if target.tensors not in ("torch", "cupy"):
        raise LoadError(
            f"tensors is {target.tensors!r}, which are not on a GPU; there they "
            'are "torch", "cupy" or "jax"'
        )
    return _cuda.CudaMemory(
        int(device), _frameworks.on_gpu(target.tensors, int(device))
    )


def serve(target, memory):
    """Says Hello, then makes calls. Does not return."""
    implements = sum(
        1 << k for k, function in enumerate(target.functions) if function
    )
    description = target.description + f'\ntensors: "{memory.how}"'
    _channel.say_hello(implements, description, memory.device)
    arena = Arena()
    control = _channel.control
    while True:
        payload = _channel.receive_run()
        capacity, side, low, scratch, calls, _ = _RUN.unpack_from(payload)
        arena.map(capacity, side, low)
        at = _RUN.size
        reply = []
        for number in range(calls):
            control[_channel.STARTED] = number + 1
            call = _CALL.unpack_from(payload, at)
            at += _CALL.size
            end = at + call[2] * _TENSOR.size
            tensors = list(_TENSOR.iter_unpack(payload[at:end]))
            at = end
            last = number + 1 == calls
            reply += _made(target, memory, arena, call, tensors, scratch, last, number)
        _flush()
        _channel.send(_channel.DONE, b"".join(reply))


def _made(target, memory, arena, call, tensors, scratch, last, number):
    """One call; its part of the reply."""
    kernel = call[0]
    function = target.functions[kernel] if kernel < len(_NOTHING) else None
    if function is None:
        return [_RESULT.pack(_NOT_IMPLEMENTED, 0, 0, 0)]
    if call[5] == _GRAPH:
        return _reply(_NOT_CAPTURED, "calls of Python are not captured in graphs")
    if scratch:
        return _reply(
            _ERROR,
            "its description asks for scratch_bytes, which functions in Python "
            "do not get; take the field out",
        )
    names = _TENSOR_NAMES[kernel]
    arguments = dict(_NOTHING[kernel])
    why = memory.place(arena, call[10], tensors, names, arguments)
    if why:
        return _reply(_NO_DEVICE_MEMORY, why)
    if kernel == 1:
        arguments["nope"] = call[3] != 0
        if call[4]:
            arguments["tensor_scale"] = call[4]
    elif kernel == 2:
        arguments["page_size"] = call[6]
    elif kernel == 3:
        arguments["softmax_scale"] = call[4]
        arguments["splits"] = call[7]
        arguments["declared_topk"] = call[8]
        arguments["query_length"] = call[9]
    status, message = _answered(function, arguments, kernel, memory)
    # No array outlives its call here; one that the module keeps does.
    arguments.clear()
    strays, fault = memory.settle(arena, tensors, last)
    if fault:
        _channel.die_of(number, fault + (f"; {message}" if message else ""))
    if status == _OK and not strays:
        return (_ALL_WELL,)
    return _reply(status, message, strays)


def _answered(function, arguments, kernel, memory):
    # Arguments of some calls alone: dst_scales, tensor_scale, prefill_*, extra_*.
    outputs = {
        name: arguments[name] for name in memory.outputs[kernel] if name in arguments
    }
    begin = time.perf_counter_ns()
    try:
        result = function(**arguments)
        _note_busy(begin)
        if result is not None or memory.results_only:
            store_results(memory, result, outputs)
        return _OK, ""
    except Refused as error:
        return _REFUSED, str(error)
    except Skip:
        return _NOT_IMPLEMENTED, ""
    except BadResult as error:
        return _ERROR, str(error)
    except Exception as error:  # whatever a module raises is its verdict
        return _ERROR, in_one_line(error)


def _note_busy(begin):
    _channel.control[_channel.BUSY] += time.perf_counter_ns() - begin


def _reply(status, message, strays=()):
    text = message.encode(errors="backslashreplace")[:_MOST_MESSAGE]
    parts = [_RESULT.pack(status, len(text), len(strays), 0), text]
    parts += [_STRAY.pack(*stray) for stray in strays]
    return parts


def _flush():
    """What the target printed is to be seen before the answer."""
    try:
        sys.stdout.flush()
    except (AttributeError, OSError, ValueError):  # the module's own, or closed
        pass


_ALL_WELL = _RESULT.pack(_OK, 0, 0, 0)
