#!/usr/bin/env python3
"""Prefill and decode of assay beside PyTorch's, alternating on one GPU: milliseconds of the same passes.

    scripts/compare_decode.py [--assay build/assay] [--model llama3-8b] [--rounds 3] [--out DIR]
                              [--decode 1,16,64] [--prefill 512,2048,8192] [--context 1024]

PyTorch has the same shapes with random bf16 weights, each layer through torch.compile, and a static cache of keys and
values; a step of decode is a CUDA graph. Each round measures each case once with both, each in a process of its own;
the table has medians of the rounds and, for decode, the bytes that must be read (weights without the embedding,
and the cache) by the time, as a share of the peak that assay knows. Needs torch alone.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

MODELS = {  # layers, width, heads of queries, of keys, their width, hidden width, vocabulary, theta
    "llama3-8b": (32, 4096, 32, 8, 128, 14336, 128256, 500000.0),
    "llama3.2-1b": (16, 2048, 32, 8, 64, 8192, 128256, 500000.0),
    "llama3.2-3b": (28, 3072, 24, 8, 128, 8192, 128256, 500000.0),
}


def torch_decoder(model, batch, tokens, most, device="cuda"):
    """A function (ids [batch, tokens], positions [tokens]) -> logits [batch, vocabulary] of the last token."""
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    layers, width, heads, kv_heads, head, hidden, vocabulary, theta = MODELS[model]
    frequencies = theta ** (-torch.arange(0, head, 2, device=device) / head)
    angles = torch.outer(torch.arange(most, device=device), frequencies)
    cos, sin = angles.cos(), angles.sin()

    def rotate(x, positions):  # [batch, heads, tokens, head]
        a, b = x.float().chunk(2, -1)
        c, s = cos[positions], sin[positions]
        return torch.cat((a * c - b * s, b * c + a * s), -1).to(x.dtype)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(width, 1e-5), nn.RMSNorm(width, 1e-5)
            self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * head, bias=False)
            self.proj = nn.Linear(heads * head, width, bias=False)
            self.gate_up = nn.Linear(width, 2 * hidden, bias=False)
            self.down = nn.Linear(hidden, width, bias=False)
            for name in ("keys", "values"):
                self.register_buffer(name, torch.randn(batch, kv_heads, most, head))

        def forward(self, x, positions):
            parts = self.qkv(self.norm1(x)).view(batch, tokens, -1, head).transpose(1, 2)
            q, k, v = parts.split((heads, kv_heads, kv_heads), 1)
            q, k = rotate(q, positions), rotate(k, positions)
            self.keys[:, :, positions] = k
            self.values[:, :, positions] = v
            if tokens > 1:
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            else:
                seen = torch.arange(most, device=device) <= positions[-1]
                y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen, enable_gqa=True)
            x = x + self.proj(y.transpose(1, 2).reshape(batch, tokens, -1))
            gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
            return x + self.down(F.silu(gate) * up)

    with torch.device(device):
        torch.set_default_dtype(torch.bfloat16)
        embedding = nn.Embedding(vocabulary, width)
        stack = [Layer() for _ in range(layers)]
        norm, last = nn.RMSNorm(width, 1e-5), nn.Linear(width, vocabulary, bias=False)
    for part in (embedding, *stack, norm, last):
        for parameter in part.parameters():
            parameter.requires_grad_(False)
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
    compiled = [torch.compile(layer) for layer in stack]

    def run(ids, positions):
        x = embedding(ids)
        for layer in compiled:
            x = layer(x, positions)
        return last(norm(x[:, -1]))

    return run, vocabulary


def torch_seconds(model, phase, batch, tokens):
    """The median seconds of a pass: of decode one token of each sequence after `tokens` - 1 others."""
    import torch

    torch.manual_seed(1)
    torch._dynamo.config.cache_size_limit = 256
    new = tokens if phase == "prefill" else 1
    with torch.no_grad():
        run, vocabulary = torch_decoder(model, batch, new, tokens)
        ids = torch.randint(vocabulary, (batch, new), device="cuda")
        positions = torch.arange(tokens - new, tokens, device="cuda")
        for _ in range(3):
            run(ids, positions)
        torch.cuda.synchronize()
        call = lambda: run(ids, positions)
        if phase == "decode":
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                run(ids, positions)
            call = graph.replay
        times = []
        for _ in range(40):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            call()
            end.record()
            times.append((begin, end))
        torch.cuda.synchronize()
    seconds = [begin.elapsed_time(end) / 1e3 for begin, end in times]
    return {"seconds": statistics.median(seconds[10:]), "torch": torch.__version__}


def run_torch(arguments, phase, batch, tokens):
    words = [sys.executable, __file__, "--model", arguments.model, "--torch", phase, str(batch), str(tokens)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        print("  torch: %s" % done.stderr.strip()[-300:], file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def run_assay(arguments, phase, batch, tokens):
    axis = "prompt" if phase == "prefill" else "context"
    words = [arguments.assay, "run", phase, "model=" + arguments.model, "batch=%d" % batch, "%s=%d" % (axis, tokens),
             *arguments.axes, "--device", "cuda", "--json"]
    done = subprocess.run(words, capture_output=True, text=True)
    record = json.loads(done.stdout.splitlines()[0]) if done.stdout else {}
    if record.get("status") != "passed":
        print("  assay: %s" % (record.get("reason") or done.stderr.strip()[-300:]), file=sys.stderr)
        return None
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(word) for word in text.split(",") if word]
    parser.add_argument("axes", nargs="*", metavar="AXIS=VALUE", help="of assay alone")
    parser.add_argument("--assay", default="build/assay")
    parser.add_argument("--model", default="llama3-8b", choices=MODELS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--decode", type=numbers, default=[1, 16, 64], help="batches")
    parser.add_argument("--prefill", type=numbers, default=[512, 2048, 8192], help="lengths of one prompt")
    parser.add_argument("--context", type=int, default=1024, help="of decode")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--out", help="folder for decode.json, everything behind the table")
    parser.add_argument("--torch", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.torch:
        phase, batch, tokens = arguments.torch
        print(json.dumps(torch_seconds(arguments.model, phase, int(batch), int(tokens))))
        return
    cases = [("decode", batch, arguments.context) for batch in arguments.decode]
    cases += [("prefill", 1, tokens) for tokens in arguments.prefill]
    print("%-24s %10s %10s %10s %12s" % ("ms", "assay", "PyTorch", "/PyTorch", "of peak"))
    results = []
    for phase, batch, tokens in cases:
        records, runs = [], []
        for _ in range(arguments.rounds):
            records.append(run_assay(arguments, phase, batch, tokens))
            runs.append(None if arguments.no_torch else run_torch(arguments, phase, batch, tokens))
        records, runs = [r for r in records if r], [r for r in runs if r]
        own = statistics.median(r["value"]["median"] for r in records) if records else None
        other = statistics.median(r["seconds"] for r in runs) if runs else None
        name = "model_bandwidth_utilisation" if phase == "decode" else "flop_utilisation"
        share = [m["value"] for r in records[:1] for m in r["metrics"] if m["name"] == name]
        print("%-24s %10s %10s %10s %12s" % (
            "%s %dx%d" % (phase, batch, tokens), "%.3f" % (own * 1e3) if own else "-",
            "%.3f" % (other * 1e3) if other else "-", "%.3f" % (own / other) if own and other else "-",
            "%.3f" % share[0] if share else "-"), flush=True)
        results.append({"phase": phase, "batch": batch, "tokens": tokens, "assay": records, "torch": runs})
        if arguments.out:  # after each case: a run that is cut off keeps what it has
            os.makedirs(arguments.out, exist_ok=True)
            with open(os.path.join(arguments.out, "decode.json"), "w") as file:
                json.dump(results, file)


if __name__ == "__main__":
    main()
