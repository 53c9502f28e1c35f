"""Calls that work on the harness' shared memory itself."""

from mlafuzz._results import OUTPUTS

_NOTHING_STRAY = ((), "")


class HostMemory:
    """Memory of memory_for()."""

    outputs = OUTPUTS

    def __init__(self, framework):
        self._view = framework.view
        self._settled = framework.settled
        self.store = framework.store
        self.results_only = framework.results_only
        self.device = framework.device
        self.how = framework.how

    def place(self, arena, schedule, tensors, names, arguments):
        """Fills `arguments` in. Why there is no room; empty: there is."""
        view = self._view
        for tensor in tensors:
            name = names.get(tensor[0])
            if name is not None:
                ndim = tensor[3]
                arguments[name] = view(
                    arena,
                    tensor[4],
                    tensor[1],
                    tensor[2],
                    tensor[5 : 5 + ndim],
                    tensor[8 : 8 + ndim],
                )
        return ""

    def settle(self, arena, tensors, last):
        """Strays, and what the device said if it has failed."""
        self._settled()
        return _NOTHING_STRAY
