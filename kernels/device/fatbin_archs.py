"""Lists the device code in objects that nvcc made: "FILE sm_90" for machine
code, "FILE compute_120" for PTX, one a line.

cuobjdump does the same, but not every toolkit installation has it. The format
(a header with magic, then entries with kind, sizes and architecture) is not
documented; it has been the same from CUDA 4 to 13.
"""

import struct
import sys

_MAGIC = 0xBA55ED50
_PTX = 1
_ELF = 2


def section(data, name):
    """The bytes of an ELF64 section; empty if there is none."""
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", data, 0x3A)
    headers = [
        struct.unpack_from("<IIQQQQIIQQ", data, table + i * size)
        for i in range(count)
    ]
    names = data[headers[names_at][4]:]
    for header in headers:
        if names[header[0]:].split(b"\0", 1)[0] == name:
            return data[header[4]:header[4] + header[5]]
    return b""


def entries(fatbin):
    """(kind, architecture) of each piece of device code."""
    at = 0
    while at + 16 <= len(fatbin):
        magic, _, header_size, size = struct.unpack_from("<IHHQ", fatbin, at)
        if magic != _MAGIC:
            raise ValueError("not a fat binary: magic %#x" % magic)
        entry, end = at + header_size, at + header_size + size
        while entry < end:
            kind, _, entry_header, payload = struct.unpack_from(
                "<HHIQ", fatbin, entry)
            (arch,) = struct.unpack_from("<I", fatbin, entry + 28)
            yield kind, arch
            entry += entry_header + payload
        at = end


def main(paths):
    for path in paths:
        with open(path, "rb") as file:
            data = file.read()
        for kind, arch in entries(section(data, b".nv_fatbin")):
            word = {_PTX: "compute_%d", _ELF: "sm_%d"}.get(kind, "other_%d")
            print(path, word % arch)


if __name__ == "__main__":
    main(sys.argv[1:])
