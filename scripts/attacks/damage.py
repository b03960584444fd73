"""How an input is damaged: every function takes bytes and a random.Random, and returns other bytes."""
import json
import re

NUMBERS = [b"-1", b"0", b"1e308", b"1e999", b"-0.0", b"18446744073709551616", b"NaN", b"Infinity", b"null", b'""',
           b"4294967296", b"1e-320", b"[]", b"{}", b"true", b"0x10", b"99999999999999999999999999"]
TEXTS = [b"", b"\x1b[2J\x1b]0;title\x07", b"\xff\xfe\xc3", b"\x00", b"a" * 100_000, b"../../etc/passwd", b"%s%n", b"\n\r\t",
         b"<script>alert(1)</script>", b"=1+1", "\u202ereversed".encode(), b"-o", b"constructor", b"'; DROP TABLE point; --"]


def place(data, random):
    return random.randrange(len(data) + 1)


def cut(data, random):
    return data[:place(data, random)]


def flip(data, random):
    changed = bytearray(data)
    for _ in range(random.choice([1, 1, 3, 30])):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def remove(data, random):
    begin = place(data, random)
    return data[:begin] + data[begin + random.choice([1, 7, 300]):]


def repeat(data, random):
    begin, end = sorted((place(data, random), place(data, random)))
    return data[:end] + data[begin:end] * random.choice([1, 2, 50]) + data[end:]


def insert(data, random):
    at = place(data, random)
    return data[:at] + random.choice(TEXTS + [b"{" * 5000, b"[" * 200_000, b"\n" * 5000, b"\xef\xbb\xbf"]) + data[at:]


def other_number(data, random):
    found = list(re.finditer(rb"(?<![\w.])-?\d+(\.\d+)?([eE][-+]?\d+)?", data))
    if not found:
        return insert(data, random)
    one = random.choice(found)
    return data[:one.start()] + random.choice(NUMBERS) + data[one.end():]


def other_text(data, random):
    found = list(re.finditer(rb'"[^"\n]{0,200}"', data))
    if not found:
        return insert(data, random)
    one = random.choice(found)
    return data[:one.start()] + b'"' + random.choice(TEXTS) + b'"' + data[one.end():]


def other_member(data, random):
    """Of a line of JSON: a member removed, given twice, of another type, or moved one level down."""
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    try:
        value = json.loads(lines[at])
    except ValueError:
        return other_text(data, random)
    objects = [value]
    for one in objects:
        children = one.values() if isinstance(one, dict) else one if isinstance(one, list) else []
        objects.extend(child for child in children if isinstance(child, (dict, list)) and len(objects) < 10_000)
    objects = [one for one in objects if isinstance(one, dict) and one]
    if not objects:
        return other_number(data, random)
    one = random.choice(objects)
    key = random.choice(list(one))
    kind = random.randrange(4)
    if kind == 0:
        del one[key]
    elif kind == 1:
        one[key] = random.choice([None, [], {}, -1, 1e300, "x", True, [[[]]], {"a": {}}, "9" * 400])
    elif kind == 2:
        one[key] = {key: one[key]}
    else:
        one.update({f"{key}{i}": one[key] for i in range(random.choice([1, 200, 3000]))})
    lines[at] = json.dumps(value).encode()
    return b"\n".join(lines)


def mixed_lines(data, random):
    lines = data.split(b"\n")
    random.shuffle(lines)
    return b"\n".join(lines[:random.randrange(len(lines)) + 1])


def noise(data, random):
    return random.randbytes(random.choice([0, 1, 64, 5000]))


DAMAGES = [cut, flip, remove, repeat, insert, other_number, other_text, other_member, other_member, mixed_lines, noise]


def damaged(data, random):
    """The damaged bytes, and how they came about."""
    names = []
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        damage = random.choice(DAMAGES)
        data = damage(data, random)[:20_000_000]
        names.append(damage.__name__)
    return data, "+".join(names)
