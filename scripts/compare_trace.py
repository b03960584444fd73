#!/usr/bin/env python3
"""A training step of assay beside the same step of PyTorch, both as timelines, on one GPU.

    scripts/compare_trace.py [--assay build/assay] [--out DIR] [MODEL ...]

MODEL is a size (30M ... 13B), default 124M. For each:

1. PyTorch times its step without the profiler, then records three steps with it (record_shapes=True).
2. assay records three steps of `train` with the same shape and element types; the file says what recording costs.
3. `assay trace compare` explains the difference. Exits with 1 if the categories of a side do not add up to
   its step within 1%.

The traces stay in DIR. Needs torch.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare_train


def profile_torch(model, path):
    """Writes a trace of three steps, and returns a step's seconds without and with the profiler."""
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule

    torch.manual_seed(1)
    network, loss_of, _ = compare_train.torch_gpt(model, "cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(network.parameters(), lr=6e-4, weight_decay=0.01, fused=True)

    def step():
        loss_of(network).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def seconds_of(steps, after=lambda: None):
        begin = time.perf_counter()
        for _ in range(steps):
            step()
            after()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / steps

    seconds_of(10)
    without = statistics.median(seconds_of(10) for _ in range(3))
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True,
                 schedule=schedule(wait=0, warmup=1, active=3, repeat=1),  # without one, it names no steps
                 on_trace_ready=lambda done: done.export_chrome_trace(path)) as recorder:
        seconds_of(1, recorder.step)
        recorded = seconds_of(3, recorder.step)
    return {"without": without, "with": recorded, "torch": torch.__version__}


def compare(arguments, model):
    of_torch = os.path.join(arguments.out, "torch-%s.json.gz" % model)
    of_assay = os.path.join(arguments.out, "assay-%s.pftrace" % model)
    done = subprocess.run([sys.executable, __file__, "--profile", of_torch, model], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("PyTorch: " + done.stderr.strip()[-500:])
    timed = json.loads(done.stdout.splitlines()[-1])
    _, _, _, _, batch, sequence, _ = compare_train.shape_of(model)
    subprocess.run([arguments.assay, "trace", "record", "train", "model=" + model, "batch=%d" % batch,
                    "sequence=%d" % sequence, "precision=bf16", "states=stochastic", "--device", "cuda", "-o", of_assay],
                   check=True)
    words = [arguments.assay, "trace", "compare", of_torch, "--with", of_assay]
    subprocess.run(words, check=True)
    found = json.loads(subprocess.run(words + ["--json"], check=True, capture_output=True, text=True).stdout)
    with open(os.path.join(arguments.out, "compare-%s.json" % model), "w") as file:
        json.dump({"torch": timed, "compare": found}, file)
    sound = True
    for side, name in (("a_ns", "PyTorch"), ("b_ns", "assay")):
        step = found["step"][side]
        parts = sum(category[side] for category in found["categories"])
        sound = sound and abs(parts / step - 1) < 0.01
        print("%s %s: categories add up to %.4f of the step of %.3f ms" % (model, name, parts / step, step / 1e6))
    print("%s PyTorch: a step takes %.3f ms without the profiler, %.3f ms with it" %
          (model, timed["without"] * 1e3, timed["with"] * 1e3))
    return sound


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=["124M"])
    parser.add_argument("--assay", default="build/assay")
    parser.add_argument("--out", default=".")
    parser.add_argument("--profile", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.profile:
        print(json.dumps(profile_torch(arguments.models[0], arguments.profile)))
        return
    os.makedirs(arguments.out, exist_ok=True)
    sys.exit(0 if all([compare(arguments, model) for model in arguments.models]) else 1)


if __name__ == "__main__":
    main()
