"""Causal attention of assay beside PyTorch's, in turns on one GPU: TFLOPS forward and backward, of
assay's own kernels and of cuDNN through assay, and of PyTorch's flash kernel and its cuDNN. Of assay's
own there are two kinds, by waves and by groups of waves; "own" is what it chooses of them.

    scripts/compare_attention.py [--assay build/assay] [--rounds 3] [--out DIR] [--tokens 16384]
                                 [WIDTHxHEADS ...]

Default: heads 64 and 128 elements wide, 12 and 32 of them; sequences of 512 to 16,384 tokens, so many
that all have --tokens together. bf16; the causal half counts: 2 N T C operations forward, 5 backward.
PyTorch's calls are timed by events, several in a row, so that starting them costs little.
"""
import argparse
import json
import os
import statistics
import subprocess

SEQUENCES = (512, 1024, 2048, 4096, 8192, 16384)


def torch_rates(width, heads, sequence, tokens):
    """{"flash forward": FLOP/s, ...}; kernels that do not take the shape are left out."""
    import compare_gpu
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def seconds(call):
        return compare_gpu.torch_seconds(call, row=10, sustained=True)

    packed = torch.randn(tokens // sequence, sequence, 3, heads, width, device="cuda", dtype=torch.bfloat16)
    q, k, v = (part.transpose(1, 2).detach().requires_grad_() for part in packed.unbind(2))
    gradient = torch.randn_like(q)
    products = tokens * sequence * heads * width
    rates = {}
    for name, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION)):
        try:
            with sdpa_kernel(backend):
                result = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                forward = seconds(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))
            backward = seconds(lambda: torch.autograd.grad(result, (q, k, v), gradient, retain_graph=True))
        except RuntimeError as error:
            print("  torch %s: %s" % (name, str(error).splitlines()[0]))
            continue
        rates[name + " forward"] = 2 * products / forward
        rates[name + " backward"] = 5 * products / backward
    return rates


def assay_rates(assay, width, heads, sequence, tokens, ways, kind=None):
    """The same of assay; what computed them is added to `ways`. kind: "waves" or "groups" of own attention alone,
    as "waves forward"."""
    environment = dict(os.environ)
    environment.pop("ASSAY_OWN_ATTENTION", None)
    if kind:
        environment["ASSAY_OWN_ATTENTION"] = kind
    words = [assay, "run", "attention", "attention=own" if kind else "attention=own,library", "sequence=%d" % sequence,
             "batch=%d" % (tokens // sequence), "heads=%d" % heads, "width=%d" % width, "precision=bf16",
             "--json", "--out", "-"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    rates = {}
    for line in done.stdout.splitlines():
        record = json.loads(line)
        if record.get("benchmark") != "attention":
            continue
        axes = record["axes"]
        if record["status"] != "passed":
            print("  assay %s %s: %s" % (kind or axes["attention"], axes["pass"], record.get("reason")))
            continue
        rates["%s %s" % (kind or axes["attention"], axes["pass"])] = record["value"]["median"]
        ways.add(record["notes"]["attention"])
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=["64x12", "128x32"], metavar="WIDTHxHEADS")
    parser.add_argument("--assay", default="build/assay")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--out", help="folder for attention.json, everything behind the table")
    arguments = parser.parse_args()
    columns = "%-8s %6s %-8s" + " %9s" * 8
    print(columns % ("heads", "T", "TFLOPS", "own", "own by", "own by", "library", "torch", "torch", "own to",
                     "own to"))
    print(columns % ("", "", "", "", "waves", "groups", "", "flash", "cudnn", "flash", "cudnn"))
    results = []
    for shape in arguments.shapes:
        width, heads = (int(number) for number in shape.split("x"))
        for sequence in SEQUENCES:
            found, ways_taken = {}, set()
            for _ in range(arguments.rounds):
                rates = {}
                for kind in (None, "waves", "groups"):
                    rates.update(assay_rates(arguments.assay, width, heads, sequence, arguments.tokens, ways_taken,
                                             kind))
                rates.update(torch_rates(width, heads, sequence, arguments.tokens))
                for name, rate in rates.items():
                    found.setdefault(name, []).append(rate)
            median = {name: statistics.median(rates) for name, rates in found.items()}

            def shown(name):
                return "%.0f" % (median[name] / 1e12) if name in median else "-"

            def ratio(name, to):
                return "%.2f" % (median[name] / median[to]) if name in median and to in median else "-"

            for direction in ("forward", "backward"):
                ways = [way + " " + direction
                        for way in ("own", "waves", "groups", "library", "flash", "cudnn")]
                print(columns % (shape, sequence, direction, *(shown(way) for way in ways),
                                 ratio(ways[0], ways[4]), ratio(ways[0], ways[5])), flush=True)
            results.append({"width": width, "heads": heads, "sequence": sequence, "rates": found,
                            "ways": sorted(ways_taken)})
        print("%-8s %s" % ("", "; ".join(results[-1]["ways"])), flush=True)
    if arguments.out:
        os.makedirs(arguments.out, exist_ok=True)
        with open(os.path.join(arguments.out, "attention.json"), "w") as file:
            json.dump(results, file)


if __name__ == "__main__":
    main()
