"""Training speed of assay beside PyTorch's, alternating on the same devices: tokens/s (samples/s of mlp) of eager
and, where it exists, torch.compile, for the same model, batch, sequence, element type and optimizer states.

    scripts/compare_train.py [--assay build/assay] [--device cuda] [--rounds 3] [--out DIR] [MODEL ...]
    scripts/compare_train.py --ranks 2 [--parallel ddp zero1 fsdp] [MODEL ...]

MODEL is mlp, a size (30M ... 13B) or numbers as `assay run train` takes them (4L4H128C256V). Each round
measures assay, eager and compile once, each in a process of its own; the table gives medians of the
rounds and their ratio. On a GPU the weights are bf16 with bf16 moments (states=stochastic), as PyTorch's
AdamW has on bf16 parameters; on a CPU everything is f32. Needs torch alone.

With --ranks, so many devices of this machine train one model: assay in each way of --parallel, PyTorch by
DistributedDataParallel, all with the same batch on every rank. `share` is assay's rate as a share of so many
times its own on one device in the same run, `waits` what of a step its passes wait for the exchange.
"""
import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import time

SIZES = {  # layers, heads, width, hidden, batch, sequence
    "30M": (6, 6, 384, 1536, 32, 512),
    "124M": (12, 12, 768, 3072, 16, 512),
    "354M": (24, 16, 1024, 4096, 8, 512),
    "773M": (36, 20, 1280, 5120, 4, 512),
    "1.5B": (48, 24, 1536, 6144, 4, 512),
    "3B": (32, 32, 2560, 10240, 2, 512),
    "7B": (32, 32, 4096, 11008, 8, 1024),
    "13B": (40, 40, 5120, 13824, 4, 1024),
}


def shape_of(model):
    """layers, heads, width, hidden, batch, sequence, vocabulary"""
    if model in SIZES:
        return SIZES[model] + (50257,)
    n = {letter: int(number) for number, letter in re.findall(r"(\d+)([LHCFV])", model.upper())}
    return n["L"], n["H"], n["C"], n.get("F", 4 * n["C"]), 8, 64, n.get("V", 50257)


MLP_WIDTHS, MLP_BATCH = (4096, 8192, 8192, 4096), 256


def torch_mlp(device, kind):
    """A model, a function of it that gives a loss, and the samples of a step."""
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    layers = []
    for inputs, outputs in zip(MLP_WIDTHS, MLP_WIDTHS[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    mlp = nn.Sequential(*layers[:-1]).to(device=device, dtype=kind)
    x = torch.randn(MLP_BATCH, MLP_WIDTHS[0], device=device, dtype=kind)
    y = torch.randn(MLP_BATCH, MLP_WIDTHS[-1], device=device, dtype=kind)
    return mlp, lambda called: F.mse_loss(called(x), y), MLP_BATCH


def torch_gpt(model, device, kind):
    """A model, a function of it that gives a loss, and the tokens of a step."""
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    layers, heads, width, hidden, batch, sequence, vocabulary = shape_of(model)

    def attend(q, k, v):
        if hasattr(F, "scaled_dot_product_attention"):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        unseen = torch.triu(torch.ones(sequence, sequence, dtype=torch.bool, device=q.device), 1)
        scores = (q @ k.transpose(2, 3)) / (width // heads) ** 0.5
        return scores.masked_fill(unseen, float("-inf")).softmax(3) @ v

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.fc, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

        def forward(self, x):
            parts = self.qkv(self.norm1(x)).split(width, 2)
            q, k, v = (t.view(batch, sequence, heads, -1).transpose(1, 2) for t in parts)
            x = x + self.proj(attend(q, k, v).transpose(1, 2).reshape(batch, sequence, width))
            return x + self.fc2(F.gelu(self.fc(self.norm2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(sequence, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm = nn.LayerNorm(width)

        def forward(self, tokens, targets):
            x = self.embedding(tokens) + self.positions.weight
            for block in self.blocks:
                x = block(x)
            logits = F.linear(self.norm(x), self.embedding.weight)
            return F.cross_entropy(logits.view(-1, vocabulary), targets.view(-1))

    torch.set_default_dtype(kind)
    # Made where it stays, if PyTorch can (2.0): numbers of several billion parameters take a host minutes.
    there = torch.device(device)
    with there if hasattr(there, "__enter__") else contextlib.nullcontext():
        gpt = Gpt()
        for parameter in gpt.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
    torch.set_default_dtype(torch.float32)
    gpt = gpt.to(device=device, dtype=kind)
    tokens = torch.randint(vocabulary, (batch, sequence + 1), device=device)
    return gpt, lambda called: called(tokens[:, :-1], tokens[:, 1:].contiguous()), batch * sequence


def torch_rate(model, device, compiled, steps):
    """Tokens/s or samples/s of PyTorch: the median of `steps` steps after as many untimed."""
    import torch

    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        if device == "cuda":
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        torch.distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    torch.manual_seed(1)
    kind = torch.bfloat16 if device == "cuda" else torch.float32
    network, loss_of, amount = torch_mlp(device, kind) if model == "mlp" else torch_gpt(model, device, kind)
    if ranks > 1:
        network = torch.nn.parallel.DistributedDataParallel(network, gradient_as_bucket_view=True)
    fused = {"fused": True} if device == "cuda" else {}
    optimizer = torch.optim.AdamW(network.parameters(), lr=6e-4, weight_decay=0.01, **fused)
    called = torch.compile(network) if compiled else network

    def now():
        """A point in time, of the device without waiting for it: a wait in every step would cost it time."""
        if device != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    times = [now()]
    for _ in range(2 * steps):
        loss = loss_of(called)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        times.append(now())
    if device == "cuda":
        torch.cuda.synchronize()
        seconds = [a.elapsed_time(b) / 1e3 for a, b in zip(times, times[1:])]
    else:
        seconds = [b - a for a, b in zip(times, times[1:])]
    memory = torch.cuda.max_memory_allocated() if device == "cuda" else 0
    result = {"rate": ranks * amount / statistics.median(seconds[steps:]), "memory": memory,
              "loss": loss.item(), "torch": torch.__version__, "ranks": ranks}
    if ranks > 1:
        torch.distributed.destroy_process_group()
    return result


def run_torch(arguments, model, compiled):
    """In a process of its own, so that nothing is left on the device. None if it cannot."""
    ranks = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(arguments.ranks)]
    words = [sys.executable, *(ranks if arguments.ranks > 1 else []), __file__, "--torch", "compile" if compiled else "eager",
             "--device", arguments.device, "--steps", str(arguments.steps), model]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        print("  torch %s: %s" % ("compile" if compiled else "eager", done.stderr.strip()[-300:]), file=sys.stderr)
        return None
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def run_assay(arguments, model, parallel=None):
    """The record of one cell; with `parallel` those of one rank and of all ranks."""
    on_gpu = arguments.device == "cuda"
    shape = []
    if model != "mlp":
        shape = ["batch=%d" % shape_of(model)[4], "sequence=%d" % shape_of(model)[5]]
    words = [arguments.assay, "run", "train", "model=" + model, *shape, "precision=" + ("bf16" if on_gpu else "f32"),
             "states=" + ("stochastic" if on_gpu else "master"), "--device", arguments.device, "--json"]
    if parallel:
        words += ["ranks=1,%d" % arguments.ranks, "parallel=" + parallel, "--ranks", str(arguments.ranks)]
    done = subprocess.run(words, capture_output=True, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    for record in records or [{}]:
        if record.get("status") != "passed":
            print("  assay: %s" % (record.get("reason") or done.stderr.strip()[-300:]), file=sys.stderr)
            return None
    return records if parallel else records[0]


def shown(value, form="%.4g"):
    return form % value if value else "-"


def ratio(value, other):
    return "%.3f" % (value / other) if value and other else "-"


def tell(model, way, rate):
    """Shows `rate` on standard error as soon as it is there, and returns it: a run that is cut off keeps what it has."""
    print("  %s %s %s" % (model, way, shown(rate)), file=sys.stderr, flush=True)
    return rate


def measure_torch(arguments, model, rates, runs):
    """One run of each way of PyTorch."""
    for way in arguments.ways:
        run = run_torch(arguments, model, way == "compile")
        if run:
            runs.append(dict(run, way=way))
            rates[way].append(tell(model, way, run["rate"]))


def median_of(rates, name):
    return statistics.median(rates[name]) if rates[name] else None


def compare(arguments, model):
    """One line of the table, and everything behind it."""
    rates = {"assay": [], "eager": [], "compile": []}
    records, runs = [], []
    for _ in range(arguments.rounds):
        record = run_assay(arguments, model)
        if record:
            records.append(record)
            rates["assay"].append(tell(model, "assay", record["value"]["median"]))
        measure_torch(arguments, model, rates, runs)
    assay, eager, compiled = (median_of(rates, way) for way in ("assay", "eager", "compile"))
    print("%-16s %10s %10s %10s %8s %8s" % (model, shown(assay), shown(eager), shown(compiled),
                                            ratio(assay, eager), ratio(assay, compiled)), flush=True)
    return {"model": model, "rates": rates, "assay": records, "torch": runs}


def compare_ranks(arguments, model):
    """A line of the table for each way of sharing the work, and everything behind them."""
    rates = {way: [] for way in ("eager", "compile", *arguments.parallel)}
    shares = {way: [] for way in arguments.parallel}
    waits = {way: [] for way in arguments.parallel}
    records, runs = [], []
    for _ in range(arguments.rounds):
        for way in arguments.parallel:
            found = run_assay(arguments, model, way)
            if not found:
                continue
            one, all_ranks = found
            records += found
            rates[way].append(tell(model, way, all_ranks["value"]["median"]))
            shares[way].append(rates[way][-1] / (arguments.ranks * one["value"]["median"]))
            metrics = {metric["name"]: metric["value"] for metric in all_ranks["metrics"]}
            waits[way].append(metrics["exchange_exposed"] / metrics["step_time"])
        measure_torch(arguments, model, rates, runs)
    eager, compiled = median_of(rates, "eager"), median_of(rates, "compile")
    for way in arguments.parallel:
        assay = median_of(rates, way)
        print("%-16s %10s %7s %7s %10s %10s %8s %8s" % (
            model + " " + way, shown(assay), shown(median_of(shares, way), "%.3f"),
            shown(median_of(waits, way), "%.3f"), shown(eager), shown(compiled), ratio(assay, eager),
            ratio(assay, compiled)), flush=True)
    return {"model": model, "rates": rates, "shares": shares, "assay": records, "torch": runs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["mlp", *SIZES], metavar="MODEL")
    parser.add_argument("--assay", default="build/assay")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", default=["eager", "compile"], choices=["eager", "compile"],
                        help="of PyTorch; default: both")
    parser.add_argument("--ranks", type=int, default=1, help="devices that train one model; default: one")
    parser.add_argument("--parallel", nargs="+", default=["ddp"], choices=["ddp", "zero1", "fsdp"])
    parser.add_argument("--steps", type=int, default=12, help="of PyTorch, timed; as many go before")
    parser.add_argument("--out", help="folder for train.json, everything behind the table")
    parser.add_argument("--torch", choices=["eager", "compile"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.torch:
        result = torch_rate(arguments.models[0], arguments.device, arguments.torch == "compile", arguments.steps)
        if os.environ.get("RANK", "0") == "0":  # lines of several ranks would mix
            print(json.dumps(result))
        return
    if arguments.ranks > 1:
        print("%-16s %10s %7s %7s %10s %10s %8s %8s" % (
            "per second", "assay", "share", "waits", "eager", "compile", "/eager", "/compile"), flush=True)
    else:
        print("%-16s %10s %10s %10s %8s %8s" % ("per second", "assay", "eager", "compile", "/eager", "/compile"), flush=True)
    results = []
    for model in arguments.models:
        results.append((compare_ranks if arguments.ranks > 1 else compare)(arguments, model))
        if arguments.out:  # after each model: a run that is cut off keeps what it has
            os.makedirs(arguments.out, exist_ok=True)
            with open(os.path.join(arguments.out, "train.json"), "w") as file:
                json.dump(results, file)


if __name__ == "__main__":
    main()
