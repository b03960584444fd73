"""Convolutions of assay beside PyTorch's with cudnn.benchmark, in turns on one GPU: TFLOPS forward and
of both gradients, channels last.

    scripts/compare_conv.py [--assay build/assay] [--rounds 3] [--out DIR] [--batch 256]
                            [--precision bf16] [--suite resnet50] [AXIS=VALUE ...]

A round is one run of assay and one of PyTorch for each of the suite's cells. AXIS=VALUE sets an axis
of all of them, as in assay run: direction=forward. PyTorch tries --benchmark-limit engines (10 as usual; 0: all).
Its calls are captured in a graph, ten in a row, so that their start on the host costs nothing, as assay's
are, and run for seconds: in the first milliseconds the clock is above what the power limit allows later.
"""
import argparse
import json
import math
import os
import statistics
import subprocess


def extents(text):
    return [int(number) for number in text.split("x")]


def assay_run(arguments, what, *options):
    """The JSON lines that assay run prints for `what`: a suite, or a benchmark and its axes."""
    done = subprocess.run([arguments.assay, "run", *what, *options, "--json"], capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if not lines:
        raise SystemExit("assay run %s: %s" % (" ".join(what), done.stderr.strip()[-2000:]))
    return lines


def cells_of(arguments):
    """The axes of each of the suite's cells."""
    suite = [arguments.suite, "precision=" + arguments.precision, "layout=nhwc", "launch=graph",
             "n=%d" % arguments.batch, *arguments.settings]
    return [line["axes"] for line in assay_run(arguments, suite, "--dry-run")]


def assay_rate(arguments, axes):
    """FLOP/s and the algorithm; None, with the reason told, if it has no verified result."""
    what = ["conv", *("%s=%s" % axis for axis in axes.items())]
    record = assay_run(arguments, what, "--out", "-")[-1]
    if record.get("status") != "passed":
        print("  assay %s: %s" % (" ".join(axes.values()), record.get("reason")), flush=True)
        return None
    return record["value"]["median"], record["notes"]["algorithm"]


def torch_seconds(axes, dtype):
    import compare_gpu
    import torch

    n, c, h, w, k, groups = (int(axes[name]) for name in ("n", "c", "h", "w", "k", "groups"))
    filters, stride, pad, dilation = (extents(axes[name]) * 2 for name in ("filter", "stride", "pad", "dilation"))
    kernel, stride, pad, dilation = filters[:2], stride[:2], pad[:2], dilation[:2]

    def tensor(*shape):
        return torch.randn(shape, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)

    x, weights = tensor(n, c, h, w), tensor(k, c // groups, *kernel)
    y = torch.nn.functional.conv2d(x, weights, None, stride, pad, dilation, groups)
    gradient = tensor(*y.shape)

    def call():
        if axes["direction"] == "forward":
            return torch.nn.functional.conv2d(x, weights, None, stride, pad, dilation, groups)
        mask = [axes["direction"] == "data", axes["direction"] == "weights", False]
        return torch.ops.aten.convolution_backward(gradient, x, weights, None, stride, pad, dilation, False,
                                                   [0, 0], groups, mask)

    side = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(side):
        for _ in range(3):  # the first chooses an engine
            call()
    torch.cuda.synchronize()
    graph, calls = torch.cuda.CUDAGraph(), 10
    with torch.no_grad(), torch.cuda.graph(graph, stream=side):
        for _ in range(calls):
            call()
    return compare_gpu.torch_seconds(graph.replay, sustained=True) / calls


def flops(axes):
    n, c, h, w, k, groups = (int(axes[name]) for name in ("n", "c", "h", "w", "k", "groups"))
    result = 2 * n * k * (c // groups)
    for i, extent in enumerate((h, w)):
        size, stride, pad, dilation = ((extents(axes[name]) * 2)[i] for name in ("filter", "stride", "pad", "dilation"))
        result *= size * ((extent + 2 * pad - (size - 1) * dilation - 1) // stride + 1)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", metavar="AXIS=VALUE")
    parser.add_argument("--assay", default="build/assay")
    parser.add_argument("--suite", default="resnet50")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--precision", default="bf16", choices=["bf16", "f16", "tf32", "f32"])
    parser.add_argument("--benchmark-limit", type=int, default=10)
    parser.add_argument("--out", help="folder for conv.json, everything behind the table")
    arguments = parser.parse_args()
    import torch

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark_limit = arguments.benchmark_limit
    torch.backends.cudnn.allow_tf32 = arguments.precision == "tf32"
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}.get(arguments.precision, torch.float32)

    def row(axes, assay_rate, torch_rate, ratio, algorithm):
        print("%-8s %5s %5s %5s %7s %7s %9.1f %9.1f %7.3f  %s" %
              (axes["direction"], axes["c"], axes["h"], axes["k"], axes["filter"], axes["stride"],
               assay_rate / 1e12, torch_rate / 1e12, ratio, algorithm), flush=True)

    print("%-8s %5s %5s %5s %7s %7s %9s %9s %7s  %s" % ("", "c", "h", "k", "filter", "stride", "assay", "torch",
                                                      "ratio", "cuDNN's engine in assay"))
    rows = [{"cell": axes, "assay": [], "torch": []} for axes in cells_of(arguments)]
    for _ in range(arguments.rounds):
        for each in rows:
            measured = assay_rate(arguments, each["cell"])
            if measured is None:
                continue
            ours, each["algorithm"] = measured
            theirs = flops(each["cell"]) / torch_seconds(each["cell"], dtype)
            each["assay"].append(ours)
            each["torch"].append(theirs)
            row(each["cell"], ours, theirs, ours / theirs, each["algorithm"])
            torch.cuda.empty_cache()
    if arguments.rounds > 1:
        print("medians of %d rounds" % arguments.rounds)
    rows = [each for each in rows if each["assay"]]
    if not rows:
        raise SystemExit("assay measured nothing")
    ratios = []
    for each in rows:
        ratio = statistics.median(a / b for a, b in zip(each["assay"], each["torch"]))
        ratios.append(ratio)
        if arguments.rounds > 1:
            row(each["cell"], statistics.median(each["assay"]), statistics.median(each["torch"]), ratio, each["algorithm"])
    print("TFLOPS, %s, n=%d; ratio of assay to torch: geometric mean %.3f, least %.3f, %d of %d below 0.99" %
          (arguments.precision, arguments.batch, math.exp(statistics.fmean(map(math.log, ratios))), min(ratios),
           sum(ratio < 0.99 for ratio in ratios), len(ratios)))
    if arguments.out:
        os.makedirs(arguments.out, exist_ok=True)
        with open(os.path.join(arguments.out, "conv.json"), "w") as file:
            json.dump(rows, file)


if __name__ == "__main__":
    main()
