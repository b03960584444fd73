"""Makes an ELF program's needs of symbol versions weak: the dynamic linker then starts it although a
library lacks them, and the program can say in its own words what is missing.

    python3 weak_versions.py PROGRAM

Format: the ELF specification's section .gnu.version_r, whose flag VER_FLG_WEAK (2) glibc's dynamic linker
heeds (elf/dl-version.c)."""
import struct
import sys

SHT_GNU_VERNEED = 0x6FFFFFFE
VER_FLG_WEAK = 2


def weaken(data):
    section_offset, = struct.unpack_from("<Q", data, 0x28)
    entry_bytes, count = struct.unpack_from("<HH", data, 0x3A)
    for i in range(count):
        header = section_offset + i * entry_bytes
        kind, = struct.unpack_from("<I", data, header + 4)
        if kind != SHT_GNU_VERNEED:
            continue
        need, = struct.unpack_from("<Q", data, header + 0x18)
        while True:
            _, versions, _, first, following = struct.unpack_from("<HHIII", data, need)
            version = need + first
            for _ in range(versions):
                name_hash, flags, other, name, step = struct.unpack_from("<IHHII", data, version)
                struct.pack_into("<H", data, version + 4, flags | VER_FLG_WEAK)
                version += step
            if following == 0:
                return True
            need += following
    return False


def main():
    path = sys.argv[1]
    with open(path, "rb") as file:
        data = bytearray(file.read())
    if data[:6] != b"\x7fELF\x02\x01" or not weaken(data):
        sys.exit(f"{path}: not a 64-bit little-endian ELF program with versions of symbols")
    with open(path, "r+b") as file:
        file.write(data)


main()
