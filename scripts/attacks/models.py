"""Damaged models, tokenizers, training data and checkpoints."""
import json
import math
import os
import shutil
import struct

from attacks.damage import damaged
from attacks.servers import Server, request

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1,
          "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512, "rms_norm_eps": 1e-5, "hidden_act": "silu",
          "max_position_embeddings": 2048, "rope_theta": 10000.0, "tie_word_embeddings": False, "torch_dtype": "float32", "bos_token_id": 1,
          "eos_token_id": 2}
SHAPES = {"model.embed_tokens.weight": [512, 64], "model.norm.weight": [64], "lm_head.weight": [512, 64],
          "model.layers.0.input_layernorm.weight": [64], "model.layers.0.post_attention_layernorm.weight": [64],
          "model.layers.0.self_attn.q_proj.weight": [64, 64], "model.layers.0.self_attn.k_proj.weight": [32, 64],
          "model.layers.0.self_attn.v_proj.weight": [32, 64], "model.layers.0.self_attn.o_proj.weight": [64, 64],
          "model.layers.0.mlp.gate_proj.weight": [128, 64], "model.layers.0.mlp.up_proj.weight": [128, 64],
          "model.layers.0.mlp.down_proj.weight": [64, 128]}


def weights(random, bad=None):
    header, data = {}, b""
    for name, shape in SHAPES.items():
        numbers = [random.gauss(0, 0.1) for _ in range(math.prod(shape))]
        if bad is not None and name == "lm_head.weight":
            numbers[5] = bad
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(numbers)]}
        data += struct.pack(f"<{len(numbers)}f", *numbers)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data, 8 + len(text)


def letter(byte):
    printable = 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174
    return chr(byte if printable else 256 + (byte if byte <= 32 else byte - 94 if byte <= 160 else 67))


def tokenizer(tokens=(), pattern=r"\s+|\w+|[^\s\w]+"):
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return json.dumps({
        "version": "1.0", "normalizer": None, "post_processor": level, "decoder": level,
        "added_tokens": [{"id": number, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                         for number, text in tokens],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "ignore_merges": False, "merges": [],
                  "vocab": {letter(byte): byte for byte in range(256)}}}).encode()


def serve(trial, name, folder, what, ask=True):
    """A server with these files ends in a line, or answers others whatever its text holds."""
    server = Server(trial, ["serve", "--port", "0", "--device", "cpu", "--precision", "f32", "--max-num-seqs", "4", "--max-num-batched-tokens", "16",
                            "--max-model-len", "128", "--weights", folder])
    if server.port and ask:
        for text in "hello", "say <|tool|>", "a" * 40 + "b", "\u00e9\U0001f600":
            server.say(request(json.dumps({"messages": [{"role": "user", "content": text}], "max_tokens": 3}), "/v1/chat/completions"), 30)
        fault = server.is_well() or server.stop()
    elif server.port:
        fault = server.stop()
    else:
        fault = trial.end(server.process, 30).fault()
    trial.judge(name, fault, what, [folder])


def folders(trial):
    random = trial.random("folders")
    folder = trial.path("model")
    file, header = weights(random)
    sound = {"model.safetensors": file, "config.json": json.dumps(CONFIG).encode(), "tokenizer.json": tokenizer()}

    def make(changes):
        shutil.rmtree(folder, ignore_errors=True)
        for name, data in {**sound, **changes}.items():
            trial.write("model/" + name, data)
    make({})
    serve(trial, "a sound model", folder, "")
    for _ in range(trial.count(12)):
        data, how = damaged(sound["config.json"], random)
        make({"config.json": data})
        serve(trial, "damaged config.json", folder, how, False)
    for _ in range(trial.count(12)):
        changed = bytearray(file)
        changed[random.randrange(header)] ^= 1 << random.randrange(8)
        make({"model.safetensors": bytes(changed)})
        serve(trial, "bits of a safetensors header", folder, "one bit", False)
    for _ in range(trial.count(8)):
        data, how = damaged(sound["tokenizer.json"], random)
        make({"tokenizer.json": data})
        serve(trial, "damaged tokenizer.json", folder, how)
    for tokens, pattern in ([(512, "<|tool|>")], r"\w+"), ([(1_900_000, "<|tool|>")], r"\w+"), ([], "(a+)+$"), ([(300, "<|tool|>")], r"\w+"):
        make({"tokenizer.json": tokenizer(tokens, pattern)})
        serve(trial, "hostile tokenizer.json", folder, f"{tokens} {pattern}")
    for bad in math.nan, math.inf:
        make({"model.safetensors": weights(random, bad)[0]})
        outcome = Server(trial, ["serve", "--port", "0", "--device", "cpu", "--precision", "f32", "--max-model-len", "128", "--weights", folder])
        ended = trial.end(outcome.process, 60, kill=bool(outcome.port))
        named = b"lm_head" in ended.err or b"not a number" in ended.err or b"not finite" in ended.err
        trial.judge("weights that are no numbers", "" if named else "it says nothing", f"{bad}: {ended.err[-200:]!r}")


def checkpoints(trial):
    random = trial.random("checkpoints")
    train = ["run", "train", "--device", "cpu", "model=1L2H32C256V", "batch=2", "sequence=16", "--telemetry", "off", "--out", "-"]
    saved = trial.path("checkpoint")
    trial.run([*train, "steps=8", "save=" + saved], 120)
    with open(saved, "rb") as file:
        whole = file.read()
    start = struct.unpack("<Q", whole[:8])[0] + 8
    for number in range(trial.count(12)):
        changed = bytearray(whole)
        place = random.randrange(start, len(whole)) if number % 2 else random.randrange(start)
        changed[place] ^= 1 << random.randrange(8)
        path = trial.write("damaged/checkpoint", bytes(changed))
        outcome = trial.run([*train, "steps=2", "from=" + path], 120)
        fault = outcome.fault() or ("a changed file is taken" if outcome.status == 0 else "")
        trial.judge("bits of a checkpoint", fault, f"byte {place} of {len(whole)}, data from {start}", [path])
    other = whole.replace(b"assay training", b"other training", 1)
    path = trial.write("damaged/checkpoint", other)
    outcome = trial.run([*train, "steps=2", "from=" + path], 120)
    trial.judge("checkpoints of another format", outcome.fault() or ("it is taken" if outcome.status == 0 else ""), "", [path])
    for more, name in (["save=/nonexistent/x"], "a file that cannot be written"), (["data=" + saved, "save=" + saved], "a file that is read"):
        begin = os.times().elapsed
        outcome = trial.run([*train, "steps=1000000", *more], 60)
        late = "it is said late" if os.times().elapsed - begin > 30 else ""
        trial.judge("save= " + name, outcome.fault() or late or ("it is taken" if outcome.status == 0 else ""), " ".join(more))
    text = b"the quick brown fox jumps over the lazy dog " * 200
    for _ in range(trial.count(8)):
        data, how = damaged(text, random)
        path = trial.write("damaged/data", data[:1_000_000])
        outcome = trial.run([*train, "steps=4", "data=" + path, random.choice(["tokens=bytes", "tokens=u16"])], 120)
        trial.judge("training data", outcome.fault(), how, [path])


def attack(trial):
    folders(trial)
    checkpoints(trial)
