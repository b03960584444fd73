"""Makes an ELF program start on a glibc that is older than it needs, so that it can say so itself.

    python3 unname_versions.py PROGRAM NAMED OLDEST        e.g. NAMED 2.27, OLDEST 2.31

OLDEST is the glibc that it needs; a program that needs a newer one is refused. What the program takes from versions of glibc newer than NAMED, it then takes without naming the version, and
weakly. Named, each version that is missing would be a line of the dynamic linker's, even if it is marked as
weak; and a missing symbol would end the program where its address is needed at the start, as in SQLite's table
of functions. Without a name, a symbol of several versions has its oldest, as pow() of 2.2.5 and not 2.29: the
same function with another way of reporting errors, which takes time. A symbol of one version is found as before.

Format: the ELF specification, sections .gnu.version, .gnu.version_r and .dynsym; what glibc's dynamic linker
makes of them: elf/dl-version.c and elf/dl-lookup.c."""
import struct
import sys

SHT_DYNSYM, SHT_GNU_VERNEED, SHT_GNU_VERSYM = 11, 0x6FFFFFFE, 0x6FFFFFFF
SYMBOL_BYTES = 24
STB_WEAK = 2
VER_NDX_GLOBAL = 1  # the symbol has no version


class Program:
    def __init__(self, data):
        self.data = data
        table, = self.read("<Q", 0x28)
        entry_bytes, count = self.read("<HH", 0x3A)
        self.headers = range(table, table + count * entry_bytes, entry_bytes)

    def read(self, layout, offset):
        return struct.unpack_from(layout, self.data, offset)

    def write(self, layout, offset, *values):
        struct.pack_into(layout, self.data, offset, *values)

    def section(self, kind):
        """Header, offset and size of the only section of that kind."""
        for header in self.headers:
            if self.read("<I", header + 4)[0] == kind:
                return header, *self.read("<QQ", header + 0x18)
        raise ValueError("it has no versions of symbols")

    def text(self, section_kind, offset):
        """The text at `offset` of the strings that belong to a section."""
        strings, = self.read("<I", self.section(section_kind)[0] + 0x28)
        begin = self.read("<Q", self.headers[strings] + 0x18)[0] + offset
        return self.data[begin:self.data.index(0, begin)].decode()


def newer(name, other):
    return name.startswith("GLIBC_2.") and int(name.split(".")[1]) > int(other.split(".")[1])


def unname(program, named, oldest):
    """Takes the versions newer than `named` out of the list; returns the numbers that symbols call them by."""
    unnamed = set()
    need, following = program.section(SHT_GNU_VERNEED)[1], 1
    while following:
        _, count, _, first, following = program.read("<HHIII", need)
        version, kept = need + first, []
        for _ in range(count):
            _, _, number, text, step = program.read("<IHHII", version)
            name = program.text(SHT_GNU_VERNEED, text)
            if newer(name, oldest):
                raise ValueError(f"it needs {name}, and {oldest} is to be enough; scripts/glibc-needs says why")
            if newer(name, named):
                unnamed.add(number)
            else:
                kept.append(version)
            version += step
        if not kept:
            raise ValueError(f"all that it takes from one library is newer than {named}")
        program.write("<H", need + 2, len(kept))
        program.write("<I", need + 8, kept[0] - need)
        for one, after in zip(kept, kept[1:] + kept[-1:]):
            program.write("<I", one + 12, after - one)
        need += following
    return unnamed


def loosen(program, unnamed):
    """Symbols of these versions have none, and are weak."""
    _, symbols, size = program.section(SHT_DYNSYM)
    versions = program.section(SHT_GNU_VERSYM)[1]
    for index in range(size // SYMBOL_BYTES):
        if program.read("<H", versions + 2 * index)[0] in unnamed:
            program.write("<H", versions + 2 * index, VER_NDX_GLOBAL)
            info = symbols + SYMBOL_BYTES * index + 4
            program.write("<B", info, STB_WEAK << 4 | program.data[info] & 15)


def main():
    path, named, oldest = sys.argv[1:]
    with open(path, "rb") as file:
        data = bytearray(file.read())
    try:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("it is not a 64-bit little-endian ELF program")
        program = Program(data)
        loosen(program, unname(program, named, oldest))
    except ValueError as error:
        sys.exit(f"{sys.argv[0]}: {path} cannot be changed: {error}")
    with open(path, "r+b") as file:
        file.write(data)


main()
