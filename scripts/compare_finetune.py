#!/usr/bin/env python3
"""Fine-tuning by assay beside PyTorch's, alternating on one GPU: tokens/s and memory; or the losses of both.

    scripts/compare_finetune.py [--assay build/assay] [--rows ROW ...] [--rounds 3] [--seconds 15] [--out FILE]
    scripts/compare_finetune.py --losses [--device cpu]

Both sides train random weights of the same shape in bf16, on rows of one sequence (packing=causal); in rows of the
table with "packed", on documents of about 195 tokens with attention within each (packing=documents). PyTorch has its
blocks compiled, the fastest way of attention that it has here, the loss in chunks, and fused AdamW with bf16 moments;
FP8 is torchao's tensorwise recipe. Rows with "recompute" keep only the result of each block in PyTorch, and in assay
with adapters; where assay trains all parameters, it also keeps attention, in the memory that gradients take later. In
other rows backward computes norms and activations again, as far as PyTorch's compiler finds it better, and in assay
unless adapters are trained. Each round measures each side once, in a process of its own; the table has medians of the
rounds, the memory that each side has allocated, and ratios. --out gets a line of JSON for each process as soon as it
ends. AXIS=VALUE after the options is for assay alone.

--losses trains tiny Qwen3, Qwen2 and Llama models, all of them and then adapters, from the same weights on the same
documents, each packed by assay and alone in PyTorch, and prints the losses side by side. Allowed differences are 1e-4
in f32, 0.02 in bf16 and FP8; exit status 1 if one is larger. Needs torch alone. On a CPU torch
1.13 is enough for --losses; on a GPU, FP8 needs a torch that has it, and is left out otherwise.
"""
import argparse
import json
import math
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile

import torch

from torch_decoder import E4M3, TARGETS, Decoder, fastest_attention

QWEN3_8B = dict(model_type="qwen3", num_hidden_layers=36, hidden_size=4096, num_attention_heads=32,
                num_key_value_heads=8, head_dim=128, intermediate_size=12288, vocab_size=151936, rope_theta=1e6,
                rms_norm_eps=1e-6)
QWEN25_7B = dict(model_type="qwen2", num_hidden_layers=28, hidden_size=3584, num_attention_heads=28,
                 num_key_value_heads=4, intermediate_size=18944, vocab_size=152064, rope_theta=1e6, rms_norm_eps=1e-6)
QWEN2_05B = dict(model_type="qwen2", num_hidden_layers=24, hidden_size=896, num_attention_heads=14,
                 num_key_value_heads=2, intermediate_size=4864, vocab_size=151936, rope_theta=1e6, rms_norm_eps=1e-6,
                 tie_word_embeddings=True)
LLAMA3_8B = dict(model_type="llama", num_hidden_layers=32, hidden_size=4096, num_attention_heads=32,
                 num_key_value_heads=8, intermediate_size=14336, vocab_size=128256, rope_theta=5e5, rms_norm_eps=1e-5)
CONFIGURATIONS = {"qwen3-8b": QWEN3_8B, "qwen2.5-7b": QWEN25_7B, "qwen2-0.5b": QWEN2_05B, "llama3-8b": LLAMA3_8B}


def row(model, sequence, batch=1, accumulate=1, rank=0, alpha=0, recompute=False, fp8=False, packed=False):
    return dict(model=model, sequence=sequence, batch=batch, accumulate=accumulate, rank=rank, alpha=alpha,
                recompute=recompute, fp8=fp8, packed=packed)


def assay_recompute(chosen):
    """What assay computes again: as much as it needs for PyTorch's memory or less."""
    if chosen["recompute"]:
        return "layer" if chosen["rank"] or chosen["accumulate"] > 1 else "perceptron"
    return "none" if chosen["rank"] else "selective"


ROWS = {
    "full": row("qwen3-8b", 8192),
    "full-recompute": row("qwen3-8b", 8192, recompute=True),
    "fp8": row("qwen3-8b", 8192, fp8=True),
    "fp8-recompute": row("qwen3-8b", 8192, fp8=True, recompute=True),
    "lora": row("qwen3-8b", 8192, rank=16, alpha=32),
    "lora-recompute": row("qwen3-8b", 8192, rank=16, alpha=32, recompute=True),
    "full-packed": row("qwen3-8b", 8192, packed=True),
    "fp8-packed": row("qwen3-8b", 8192, fp8=True, packed=True),
    "lora-packed": row("qwen3-8b", 8192, rank=16, alpha=32, packed=True),
    "qwen2-lora": row("qwen2-0.5b", 1024, batch=2, accumulate=8, rank=32, alpha=16, recompute=True),
    # Shapes of rates that others published: llm.q's and NeMo's, see docs/finetune.md.
    "qwen2.5-full": row("qwen2.5-7b", 1024, batch=4),
    "qwen2.5-fp8": row("qwen2.5-7b", 1024, batch=16, fp8=True, recompute=True),
    "llama3-lora": row("llama3-8b", 4096, batch=2, accumulate=16, rank=8, alpha=32),
}


# ---- Speed ----


def random_documents(length):
    """Lengths of documents that fill a row, drawn as assay draws those of its synthetic documents."""
    mean, deviation, shortest = 195, 0.6, 16
    draw, left = random.Random(1), length
    while left > 0:
        drawn = round(draw.lognormvariate(math.log(mean) - deviation ** 2 / 2, deviation))
        document = min(max(shortest, drawn), left)
        left -= document
        yield document


def torch_rate(chosen, seconds):
    """Tokens/s of PyTorch: the median of steps that take `seconds` together, after three others."""
    torch.manual_seed(1)
    torch._dynamo.config.cache_size_limit = 256
    config = CONFIGURATIONS[chosen["model"]]
    batch, sequence, passes = chosen["batch"], chosen["sequence"], chosen["accumulate"]
    documents = list(random_documents(sequence)) if chosen["packed"] else None
    attend, attention, tried = fastest_attention(config, batch, sequence, documents)
    torch.cuda.empty_cache()
    lora = (chosen["rank"], chosen["alpha"], TARGETS) if chosen["rank"] else None
    model = Decoder(config, "cuda", torch.bfloat16, attend, lora, chosen["fp8"], compiled=True,
                    recompute=chosen["recompute"])
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5, weight_decay=0.01, fused=True)
    tokens = torch.randint(config["vocab_size"], (batch, sequence + 1), device="cuda")
    targets, positions = tokens[:, 1:].clone(), None
    if documents:
        positions = torch.cat([torch.arange(length, device="cuda") for length in documents])
        targets[:, torch.tensor(documents).cumsum(0) - 1] = -100  # nothing follows a document's last token

    def step():
        for _ in range(passes):
            loss = model(tokens[:, :-1], targets, passes, positions)
            loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss * passes

    def now():
        """A point in time of the device, without waiting for it: a wait in every step would cost it time."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    for _ in range(3):
        loss = step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin = now()
    loss = step()
    end = now()
    torch.cuda.synchronize()
    count = min(100, max(5, int(seconds * 1e3 / begin.elapsed_time(end))))
    times = [now()]
    for _ in range(count):
        loss = step()
        times.append(now())
    torch.cuda.synchronize()
    step_seconds = statistics.median(a.elapsed_time(b) / 1e3 for a, b in zip(times, times[1:]))
    return {"rate": batch * sequence * passes / step_seconds, "memory": torch.cuda.max_memory_allocated(),
            "memory_reserved": torch.cuda.max_memory_reserved(), "loss": loss.item(), "steps": count,
            "attention": attention, "attentions_ms": tried, "torch": torch.__version__,
            "device": torch.cuda.get_device_name()}


def measured_by_torch(arguments, name):
    words = [sys.executable, os.path.abspath(__file__), "--torch", name, "--seconds", str(arguments.seconds)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        return {"error": done.stderr.strip()[-400:]}
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def measured_by_assay(arguments, name):
    chosen = ROWS[name]
    axes = {"model": chosen["model"], "packing": "documents" if chosen["packed"] else "causal", "precision": "bf16",
            "batch": chosen["batch"], "sequence": chosen["sequence"], "accumulate": chosen["accumulate"],
            "recompute": assay_recompute(chosen)}
    if chosen["rank"]:
        axes.update({"mode": "lora", "rank": chosen["rank"], "alpha": chosen["alpha"], "targets": "all"})
    if chosen["fp8"]:
        axes["products"] = "fp8"
    words = [arguments.assay, "run", "finetune", *("%s=%s" % one for one in axes.items()), *arguments.axes,
             "--device", "cuda", "--out", "-", "--json"]
    record, error = run_assay(words)
    if error:
        return {"error": error}
    metrics = {metric["name"]: metric["value"] for metric in record["metrics"]}
    return {"rate": record["value"]["median"], "memory": metrics["memory"],
            "memory_by_driver": metrics.get("memory_by_driver"), "loss": metrics["last_loss"], "record": record}


def run_assay(words):
    """The record of a command with one cell, or what went wrong."""
    done = subprocess.run(words, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        record = json.loads(line)
        if "benchmark" not in record:  # the environment
            continue
        return (record, None) if record.get("status") == "passed" else (None, record.get("reason", "no reason"))
    return None, done.stderr.strip()[-400:]


def compare_speed(arguments):
    """Measures in rounds of all rows, then prints the table, with what there is if somebody interrupts."""
    rates, memory = ({name: {"assay": [], "PyTorch": []} for name in arguments.rows} for _ in range(2))
    sides = {"assay": measured_by_assay} if arguments.no_torch else SIDES
    try:
        for number in range(arguments.rounds):
            for name in arguments.rows:
                for side, measure in sides.items():
                    found = measure(arguments, name)
                    if arguments.out:
                        with open(arguments.out, "a") as file:
                            file.write(json.dumps(dict(found, row=name, side=side, round=number)) + "\n")
                    shown = found["error"] if "error" in found else "%.0f tokens/s" % found["rate"]
                    print("round %d of %d: %s %s: %s" % (number + 1, arguments.rounds, name, side, shown),
                          file=sys.stderr, flush=True)
                    if "error" not in found:
                        rates[name][side].append(found["rate"])
                        memory[name][side].append(found["memory"] / 1e9)
    except KeyboardInterrupt:
        print("interrupted: the table has the rounds until now", file=sys.stderr)
    print("%-16s %10s %10s %8s %12s %12s %8s" % ("tokens/s", "assay", "PyTorch", "ratio", "GB of assay", "of PyTorch",
                                                 "ratio"))
    for name in arguments.rows:
        print("%-16s %s" % (name, columns(rates[name], "%10.0f", 10) + columns(memory[name], "%12.1f", 12)))


SIDES = {"assay": measured_by_assay, "PyTorch": measured_by_torch}


def columns(values, form, width):
    """Medians of both sides and their ratio."""
    own, other = (statistics.median(values[side]) if values[side] else None for side in ("assay", "PyTorch"))
    shown = [form % value if value else "-".rjust(width) for value in (own, other)]
    return "%s %s %8s " % (*shown, "%.3f" % (own / other) if own and other else "-")


# ---- Losses ----

STEPS, RATE, WARM_UP, DECAY, EPSILON = 20, 5e-4, 10, 0.01, 1e-8
# The type of the numbers, whether the products of blocks are in FP8, and the largest allowed difference of losses.
COMPUTATIONS = {"f32": (torch.float32, False, 1e-4), "bf16": (torch.bfloat16, False, 0.02),
                "fp8": (torch.bfloat16, True, 0.02)}
ROW_LENGTH, ROWS_IN_BATCH = 64, 4
# Best-fit decreasing packs these lengths into four full rows of 64, in whatever order the rows are.
DOCUMENT_LENGTHS = (64, 50, 40, 34, 30, 24, 14)
END_OF_TEXT = 256
TINY = dict(num_hidden_layers=2, hidden_size=128, num_attention_heads=4, num_key_value_heads=2, head_dim=32,
            intermediate_size=192, vocab_size=320, max_position_embeddings=256, hidden_act="silu")
TINY_MODELS = {
    "qwen3": dict(TINY, model_type="qwen3", rope_theta=1e6, rms_norm_eps=1e-6, tie_word_embeddings=True),
    "qwen2": dict(TINY, model_type="qwen2", rope_theta=1e6, rms_norm_eps=1e-6, tie_word_embeddings=True),
    "llama": dict(TINY, model_type="llama", rope_theta=5e5, rms_norm_eps=1e-5, tie_word_embeddings=False,
                  rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                    original_max_position_embeddings=32)),
}


def write_tensors(path, tensors):
    """A safetensors file."""
    header, data = {}, b""
    names = {torch.float32: "F32", torch.bfloat16: "BF16"}
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        # numpy has no bf16
        raw = (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy().tobytes()
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read_tensors(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    types = {"F32": torch.float32, "BF16": torch.bfloat16}
    tensors = {}
    for name, entry in json.loads(data[8:begin]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            flat = torch.frombuffer(bytearray(data[begin + first:begin + last]), dtype=types[entry["dtype"]])
            tensors[name] = flat.reshape(entry["shape"])
    return tensors


def byte_tokenizer():
    """A tokenizer.json with a token for each byte, and one that ends a text."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    vocabulary = {chr(byte): byte for byte in printable}
    vocabulary.update({chr(0x100 + i): byte for i, byte in enumerate(others)})
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {"id": END_OF_TEXT, "content": "<|endoftext|>", "single_word": False, "lstrip": False, "rstrip": False,
           "normalized": False, "special": True}
    return {"version": "1.0", "added_tokens": [end], "normalizer": None, "pre_tokenizer": level,
            "post_processor": level, "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "ignore_merges": False,
                      "vocab": vocabulary, "merges": []}}


def texts():
    """Letters with a rule to learn. The token that ends a text is one of its length."""
    for i, length in enumerate(DOCUMENT_LENGTHS):
        yield "".join(chr(ord("a") + (i + k * k) % 26) for k in range(length - 1))


def documents(device):
    """Each text in a row of its own: tokens and targets."""
    tokens = torch.zeros(len(DOCUMENT_LENGTHS), ROW_LENGTH, dtype=torch.long)
    targets = torch.full_like(tokens, -100)
    for i, text in enumerate(texts()):
        whole = torch.tensor([*text.encode(), END_OF_TEXT])
        tokens[i, :len(whole)] = whole
        targets[i, :len(whole) - 1] = whole[1:]
    return tokens.to(device), targets.to(device)


def torch_losses(model, tokens, targets, rates):
    """The loss of a step with each of the rates, by AdamW on f32 masters from which the weights are rounded."""
    trained = [p for p in model.parameters() if p.requires_grad]
    masters = [p.detach().float().clone() for p in trained]
    optimizer = torch.optim.AdamW(masters, eps=EPSILON, weight_decay=DECAY)
    losses = []
    for rate in rates:
        loss = model(tokens, targets)
        loss.backward()
        for parameter, master in zip(trained, masters):
            master.grad, parameter.grad = parameter.grad.float(), None
        torch.nn.utils.clip_grad_norm_(masters, 1.0)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        with torch.no_grad():
            for parameter, master in zip(trained, masters):
                parameter.copy_(master)
        losses.append(loss.item())
    return losses


def read_into(model, *files):
    """The tensors of files that `model` has, and nothing else."""
    there = {}
    for path in files:
        there.update(read_tensors(path))
    with torch.no_grad():
        for name, parameter in model.files_parameters().items():
            parameter.copy_(there.pop(name))
    if there:
        raise RuntimeError("the model has no %s" % ", ".join(there))


def compare_family(arguments, family, computation, folder):
    """Lines of losses: of all parameters, then of adapters of what was learnt."""
    config, (kind, fp8, _) = TINY_MODELS[family], COMPUTATIONS[computation]
    rates = [RATE * min(1, (step + 1) / (WARM_UP + 1)) for step in range(STEPS)]
    start, learnt, adapter = (os.path.join(folder, name) for name in ("start", "learnt", "adapter"))
    data = os.path.join(folder, "texts.jsonl")
    os.makedirs(start)
    torch.manual_seed(1)
    full = Decoder(config, arguments.device, kind, fp8=fp8)
    with torch.no_grad():  # norms and biases that matter
        for name, parameter in full.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
    write_tensors(os.path.join(start, "model.safetensors"), full.files_parameters())
    for name, content in (("config.json", config), ("tokenizer.json", byte_tokenizer())):
        with open(os.path.join(start, name), "w") as file:
            json.dump(content, file)
    with open(data, "w") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts())

    def assay_losses(weights, output, *axes):
        words = [arguments.assay, "run", "finetune", "weights=" + weights, "data=" + data,
                 "packing=documents", "batch=%d" % ROWS_IN_BATCH, "sequence=%d" % ROW_LENGTH,
                 "precision=" + ("bf16" if fp8 else computation), "products=" + computation, "states=master",
                 "schedule=constant", "steps=%d" % STEPS,
                 "output=" + output, *axes, "--device", arguments.device, "--telemetry", "off", "--out", "-", "--json"]
        record, error = run_assay(words)
        if error:
            sys.exit("compare_finetune: %s %s: assay: %s" % (family, computation, error))
        return next(curve["y"] for curve in record["curves"] if curve["name"] == "loss")

    worst = show(family, computation, "full", assay_losses(start, learnt, "rate=%g" % RATE),
                 torch_losses(full, *documents(arguments.device), rates))
    lora = ("mode=lora", "rank=4", "alpha=8", "targets=all")
    # Steps of this rate change nothing: the adapter is written as it begins.
    assay_losses(learnt, adapter, "rate=1e-30", *lora)
    adapted = Decoder(config, arguments.device, kind, lora=(4, 8, TARGETS), fp8=fp8)
    read_into(adapted, os.path.join(learnt, "model.safetensors"), os.path.join(adapter, "adapter_model.safetensors"))
    return max(worst, show(family, computation, "lora", assay_losses(learnt, adapter, "rate=%g" % RATE, *lora),
                           torch_losses(adapted, *documents(arguments.device), rates)))


def show(family, computation, mode, own, other):
    """The largest difference as a share of what is allowed."""
    differences = [abs(a - b) for a, b in zip(own, other)]
    allowed = COMPUTATIONS[computation][2]
    print("%s %s %s: largest difference %.2g, allowed %g" % (family, mode, computation, max(differences), allowed))
    for step, (a, b) in enumerate(zip(own, other)):
        print("  step %2d  assay %.6f  PyTorch %.6f" % (step, a, b))
    sys.stdout.flush()
    return max(differences) / allowed


def compare_losses(arguments):
    if arguments.device == "cuda":
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    worst = 0.0
    for family in TINY_MODELS:
        for computation, (_, fp8, _) in COMPUTATIONS.items():
            if fp8 and arguments.device == "cuda" and not hasattr(torch, E4M3[0]):
                print("%s fp8: left out, because torch %s has no FP8" % (family, torch.__version__))
                continue
            with tempfile.TemporaryDirectory() as folder:
                worst = max(worst, compare_family(arguments, family, computation, folder))
    return 0 if worst <= 1 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axes", nargs="*", metavar="AXIS=VALUE", help="of assay alone")
    parser.add_argument("--assay", default="build/assay")
    parser.add_argument("--rows", type=lambda text: text.split(","), default=list(ROWS),
                        help="joined by commas, of: %s; default: all" % ", ".join(ROWS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15, help="of PyTorch's timed steps in a round")
    parser.add_argument("--no-torch", action="store_true", help="measure assay alone")
    parser.add_argument("--out", help="file to which a line of JSON is added for each process")
    parser.add_argument("--losses", action="store_true", help="compare losses instead of speed")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="of --losses")
    parser.add_argument("--torch", choices=ROWS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.torch:
        print(json.dumps(torch_rate(ROWS[arguments.torch], arguments.seconds)))
        return 0
    if unknown := [name for name in arguments.rows if name not in ROWS]:
        parser.error("no row %s; allowed: %s" % (unknown[0], ", ".join(ROWS)))
    if arguments.losses:
        return compare_losses(arguments)
    compare_speed(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
