#!/usr/bin/env python3
"""Makes tests/data/tokenizer_golden.json: small tokenizers as files, texts, and their tokens.

python3 scripts/tokenizer_golden.py           # makes the file; needs python3-regex
python3 scripts/tokenizer_golden.py --check   # holds the file against the tokenizers package

Two tokenizer.json, of the form that Llama 3's and Qwen's have, with merges learnt from docs/method.md.
What they make of texts is computed here by the definition, one merge at a time, with Python's own
regular expressions and normal forms.
"""

import argparse
import json
import os
import unicodedata

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
GOLDEN = os.path.join(ROOT, "tests", "data", "tokenizer_golden.json")
MERGES = 400
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*"
           r"|\s*[\r\n]+|\s+(?!\S)|\s+")
TEXTS = [
    "", " ", "Hello, world!", "The measurement's done; they're sure, we'LL see.", "1234567 and 3.14",
    "  two  spaces   three", "tabs\tand\n\nlines\r\n  indented\n", "trailing   ", "\n\n\n", "don't",
    "na\u00efve caf\u00e9", "nai\u0308ve cafe\u0301", "\u4e2d\u6587\u6a21\u578b", "\u0416\u0443\u043a!",
    "\U0001F600\U0001F468\u200d\U0001F469\u200d\U0001F467", "\u00a0non-breaking\u2003em\u3000wide",
    "\u0664\u0662 \u00bd \u2167", "e\u0301\u0323", "\uac00\u1100\u1161\u11a8", "a<|end|>b", "<|end|>",
    "<|end|", "<think>why</think>", "x = f(a[i]) + 1; // ok", "https://example.org/a?b=c&d=1",
    "-----=====", "_under_score__", "\u0085next\u2028line", "\u200bzero", "\ufffd", "A\u030a\u212b",
    "median of the samples, and the interval of the median", "\x00\x01\x7f",
]
TOKENS = [[72, 105], [240, 159, 152, 128], [240, 159], [195], [97, 195, 98], [224, 128], [237, 160, 128]]


def byte_characters():
    printable = list(range(33, 127)) + list(range(0xA1, 0xAD)) + list(range(0xAE, 0x100))
    characters, added = {}, 0
    for byte in range(256):
        if byte in printable:
            characters[byte] = chr(byte)
        else:
            characters[byte] = chr(256 + added)
            added += 1
    return characters


CHARACTERS = byte_characters()
BYTES = {character: byte for byte, character in CHARACTERS.items()}


def written(data):
    return "".join(CHARACTERS[byte] for byte in data)


def learn(text, pattern):
    """The merges of the most frequent pairs, the first in order of text among equal ones."""
    import regex
    words = {}
    for piece in regex.findall(pattern, text):
        key = tuple(CHARACTERS[byte] for byte in piece.encode())
        words[key] = words.get(key, 0) + 1
    merges = []
    while len(merges) < MERGES:
        pairs = {}
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] = pairs.get(pair, 0) + count
        best = max(pairs, key=lambda pair: pairs[pair])
        merges.append(best)
        words = {tuple(merge(list(word), best)): count for word, count in words.items()}
    return merges


def merge(symbols, pair):
    """All places of a pair, from the left."""
    result, i = [], 0
    while i < len(symbols):
        both = tuple(symbols[i:i + 2]) == pair
        result.append("".join(pair) if both else symbols[i])
        i += 2 if both else 1
    return result


def make(name, text):
    qwen = name == "qwen"
    pattern = PATTERN % ("" if qwen else "{1,3}")
    merges = learn(text, pattern)
    vocabulary = {CHARACTERS[byte]: byte for byte in range(256)}
    for left, right in merges:
        vocabulary.setdefault(left + right, len(vocabulary))
    if not qwen:
        vocabulary.setdefault(written(b" statistics"), len(vocabulary))  # reached by no merges
    first = len(vocabulary)
    added = [(first, "<|begin|>", True), (first + 1, "<|end|>", True), (first + 2, "<think>", False)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": not qwen,
             "use_regex": False}
    template = {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<|begin|>", "type_id": 0}},
                           {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                         {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<|begin|>": {"id": "<|begin|>", "ids": [first],
                                                 "tokens": ["<|begin|>"]}}}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": token, "content": content, "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": special}
                         for token, content, special in added],
        "normalizer": {"type": "NFC"} if qwen else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
             "invert": False}, level]},
        "post_processor": level if qwen else {"type": "Sequence", "processors": [level, template]},
        "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": "" if qwen else None,
                  "end_of_word_suffix": "" if qwen else None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": not qwen, "vocab": vocabulary,
                  "merges": [" ".join(pair) for pair in merges] if qwen else
                            [list(pair) for pair in merges]},
    }


def encode(file, text):
    import regex
    model, added = file["model"], {one["content"]: one["id"] for one in file["added_tokens"]}
    ranks = {tuple(pair.split(" ") if isinstance(pair, str) else pair): rank
             for rank, pair in enumerate(model["merges"])}
    tokens = []
    for part in regex.split("(%s)" % "|".join(regex.escape(one) for one in added), text):
        if part in added:
            tokens.append(added[part])
            continue
        if file["normalizer"]:
            part = unicodedata.normalize("NFC", part)
        pattern = file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
        for match in regex.finditer(pattern, part):
            symbols = [CHARACTERS[byte] for byte in match.group().encode()]
            if model["ignore_merges"] and "".join(symbols) in model["vocab"]:
                tokens.append(model["vocab"]["".join(symbols)])
                continue
            while True:
                pairs = [(ranks[pair], i) for i, pair in enumerate(zip(symbols, symbols[1:]))
                         if pair in ranks]
                if not pairs:
                    break
                _, i = min(pairs)
                symbols[i:i + 2] = [symbols[i] + symbols[i + 1]]
            tokens += [model["vocab"][symbol] for symbol in symbols]
    return tokens


def decode(file, tokens):
    names = {token: name for name, token in file["model"]["vocab"].items()}
    added = {one["id"]: one for one in file["added_tokens"]}
    data = b""
    for token in tokens:
        if token in added:
            data += b"" if added[token]["special"] else added[token]["content"].encode()
        elif token in names:
            data += bytes(BYTES[character] for character in names[token])
    return data.decode("utf-8", "replace")


def cases_of(file):
    cases = []
    for text in TEXTS:
        tokens = encode(file, text)
        cases.append({"text": text, "tokens": tokens, "decoded": decode(file, tokens)})
    return {"file": file, "cases": cases,
            "decoded": [{"tokens": one, "text": decode(file, one)} for one in TOKENS]}


def check(golden):
    import tokenizers
    wrong = 0
    for name, one in golden.items():
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps(one["file"]))
        for case in one["cases"]:
            tokens = tokenizer.encode(case["text"], add_special_tokens=False).ids
            text = tokenizer.decode(case["tokens"])
            if tokens != case["tokens"] or text != case["decoded"]:
                wrong += 1
                print(name, repr(case["text"]), case["tokens"], "tokenizers:", tokens, repr(text))
        for case in one["decoded"]:
            text = tokenizer.decode(case["tokens"])
            if text != case["text"]:
                wrong += 1
                print(name, case["tokens"], repr(case["text"]), "tokenizers:", repr(text))
    print("tokenizers %s: %d of its results differ" % (tokenizers.__version__, wrong))
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        with open(GOLDEN) as file:
            return check(json.load(file))
    with open(os.path.join(ROOT, "docs", "method.md")) as file:
        text = file.read()
    golden = {name: cases_of(make(name, text)) for name in ("llama3", "qwen")}
    with open(GOLDEN, "w") as file:
        json.dump(golden, file, ensure_ascii=True)
        file.write("\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
