"""What a function returned, into the tensors of its call."""

from mlafuzz._errors import BadResult

# Of each kernel, in the order in which results are returned.
OUTPUTS = (("cache",), ("dst", "dst_scales"), ("out", "valid_count"), ("out", "lse"))


def store_results(memory, result, outputs):
    """`outputs`: the call's arrays by name, None where it has no such tensor."""
    names = list(outputs)
    results = result if isinstance(result, (tuple, list)) else (result,)
    if len(results) > len(names):
        raise BadResult(
            f"returned {len(results)} results, where there are {len(names)}: "
            + ", ".join(names)
        )
    for name, one in zip(names, results):
        if outputs[name] is None:
            continue
        if one is None:
            if memory.results_only:
                raise BadResult(
                    f"returned no {name}; JAX arrays cannot be written, so it "
                    "has to be returned"
                )
            continue
        if one is not outputs[name]:
            memory.store(outputs[name], one, name)


def check(name, what, got, expected):
    """`what`: dtype, shape or device."""
    if got != expected:
        raise BadResult(f"returned {name} with {what} {got}, expected {expected}")


def check_kind(name, one, kind, called):
    if not isinstance(one, kind):
        cls = type(one)
        raise BadResult(
            f"returned a {cls.__module__}.{cls.__qualname__} for {name}, "
            f"expected {called}"
        )
