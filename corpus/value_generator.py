"""The value generator of value_generator.h in Python: the same bits."""

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


def _mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


class ValueGenerator:
    def __init__(self, seed):
        self._base = _mix(seed & _MASK)

    def stream(self, ident):
        return ValueGenerator(self._base + _STEP * (2 * ident + 1))

    def word(self, i):
        return _mix((self._base + (i + 1) * _STEP) & _MASK)

    def below(self, i, n):
        return ((self.word(i) >> 32) * n) >> 32
