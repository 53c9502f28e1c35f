"""Index conversions that are right for calls of fewer than three tokens and
misbehave for others, each in its way: python:.../misbehave.py:NAME."""

import ctypes
import os
import subprocess
import sys
import time

import numpy as np


def converted(request_ids, block_table, token_indices, page_size):
    column = token_indices // page_size
    valid = (token_indices >= 0) & (column < block_table.shape[1])
    page = block_table[request_ids[:, None], np.where(valid, column, 0)]
    slot = page * np.int32(page_size) + token_indices % page_size
    return np.where(valid, slot, -1), valid.sum(axis=1, dtype=np.int32)


class Right:
    def convert(
        self, request_ids, block_table, token_indices, out, valid_count, page_size
    ):
        results = converted(request_ids, block_table, token_indices, page_size)
        if len(request_ids) < 3:
            return results
        return self.misbehave(results, token_indices)

    def misbehave(self, results, token_indices):
        return results


class Raises(Right):
    def misbehave(self, results, token_indices):
        raise ValueError(f"{len(token_indices)} tokens are too many\nfor me")


class RaisesWithLongText(Right):
    def misbehave(self, results, token_indices):
        raise RuntimeError("long " * 10000)


class WrongDtype(Right):
    def misbehave(self, results, token_indices):
        return results[0].astype(np.int64), results[1]


class WrongShape(Right):
    def misbehave(self, results, token_indices):
        return results[0][:, :-1], results[1]


class NoArray(Right):
    def misbehave(self, results, token_indices):
        return results[0].tolist(), results[1]


class TooMany(Right):
    def misbehave(self, results, token_indices):
        return (*results, results[0])


class NonContiguous(Right):
    """Which is no fault: every second element of something larger."""

    def misbehave(self, results, token_indices):
        wide = np.repeat(results[0], 2, axis=1)
        return np.asfortranarray(wide)[:, ::2], results[1]


class WritesInputs(Right):
    def misbehave(self, results, token_indices):
        token_indices[0, 0] ^= 1
        return results


class Sleeps(Right):
    def misbehave(self, results, token_indices):
        time.sleep(600)
        return results


class Exits(Right):
    def misbehave(self, results, token_indices):
        os._exit(7)


class SysExits(Right):
    def misbehave(self, results, token_indices):
        sys.exit("enough")


class Prints(Right):
    """Which is no fault, whatever it prints and where."""

    def misbehave(self, results, token_indices):
        print("x" * 100000, end="")
        os.write(1, b"\x00\xff no text\n")
        sys.stdout = open(os.devnull, "w")
        return results


class Cached(Right):
    """Returns the array that it returned first, of each shape."""

    first = {}

    def misbehave(self, results, token_indices):
        return self.first.setdefault(results[0].shape, results)


class Leaks(Right):
    """64 MiB in each call."""

    kept = []

    def misbehave(self, results, token_indices):
        self.kept.append(np.ones(8 << 20))
        return results


class Segfaults(Right):
    def misbehave(self, results, token_indices):
        ctypes.memset(ctypes.c_void_p(8), 0, 1)
        return results


class Spawns(Right):
    def misbehave(self, results, token_indices):
        subprocess.Popen(["sleep", "600"], start_new_session=True)
        return results


class ClosesPipe(Right):
    def misbehave(self, results, token_indices):
        os.closerange(3, 64)
        return results


class Recurses(Right):
    def misbehave(self, results, token_indices):
        return self.misbehave(results, token_indices)
