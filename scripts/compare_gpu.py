"""Holds assay against PyTorch on one GPU, in one process run, alternating, and prints a table.

Every row is: what, PyTorch's figure, assay's figure, the ratio, what is wanted. Both are timed alike:
settled under load, launches queued behind a delay, medians. Exit status 1 if a row misses its mark.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

import torch

SHAPES = ["4096x4096x4096", "8192x8192x8192", "16384x16384x16384", "16384x8192x1280",
          "16384x1024x8192", "16384x8192x7168", "16384x3584x8192"]
GIB = 1 << 30
ROW = 20  # products per sample on both sides: pauses between samples then leave the clock alone


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, other, value, wanted, unit, least):
        """`least` is the smallest ratio value/other (other > 0) or value that passes; None: shown only."""
        ratio = value / other if other else None
        judged = ratio if other else value
        passed = None if least is None else judged >= least
        self.rows.append(dict(what=what, other=other, assay=value, ratio=ratio, unit=unit,
                              wanted=wanted, passed=passed))
        print("  " + self.line(self.rows[-1]), flush=True)

    @staticmethod
    def line(row):
        number = lambda v: "-" if v is None else f"{v:.1f}"
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.3f}x"
        verdict = {None: "", True: "ok", False: "MISSED"}[row["passed"]]
        return (f"{row['what']:<44} {number(row['other']):>9} {number(row['assay']):>9} "
                f"{row['unit']:<7} {ratio:>8}  {row['wanted']:<28} {verdict}")

    def show(self):
        print(f"\n{'what':<44} {'PyTorch':>9} {'assay':>9} {'unit':<7} {'ratio':>8}  wanted")
        for row in self.rows:
            print(self.line(row))
        missed = [row for row in self.rows if row["passed"] is False]
        print(f"\n{len(self.rows)} rows, {len(missed)} missed")
        return not missed


class Assay:
    def __init__(self, binary, out):
        self.binary, self.store = binary, os.path.join(out, "store")
        self.log = open(os.path.join(out, "records.jsonl"), "a")

    def run(self, *words):
        """Records of one `assay run`, by cell text."""
        command = [self.binary, "run", *words, "--json", "--out", self.store]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            print(f"  {' '.join(command)}: exit {done.returncode}\n{done.stderr}", flush=True)
        records = []
        for line in done.stdout.splitlines():
            record = json.loads(line)
            if "status" in record:
                self.log.write(line + "\n")
                records.append(record)
                if record["status"] != "passed":
                    print(f"  {record['axes']}: {record['status']}: {record.get('reason')}")
        return records

    def median(self, *words):
        """The one record's value, 0 if it has none."""
        records = self.run(*words)
        values = [r["value"]["median"] for r in records if "value" in r]
        return max(values, default=0.0)


def launched_for(seconds, work):
    """Calls `work` until `seconds` of wall time have passed and at least 10 times."""
    begin, calls = time.monotonic(), 0
    while calls < 10 or time.monotonic() - begin < seconds:
        work()
        calls += 1
        if calls % 10 == 0:
            torch.cuda.synchronize()
    torch.cuda.synchronize()


def torch_seconds(work, row=1, settle=0.5, sustained=False):
    """Median seconds of `work`, `row` of them between two events behind a delay, as assay times them.

    After `settle` seconds of load, since memory and a clock under a power cap settle only then; short
    bursts from idle would show a rate nobody can keep up. `sustained`: in samples of 0.4 s for 6 s, as
    assay samples work under the power cap (docs/method.md).
    """
    launched_for(settle, work)
    times, begin = [], time.monotonic()
    least, lasting = (15, 6.0) if sustained else (20, 0.5)
    if sustained:
        row = max(row, math.ceil(0.4 / torch_seconds(work, row, settle=0)))
    while len(times) < least or time.monotonic() - begin < lasting:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(40_000)  # about 25 us: the first launch is queued before the device starts
        start.record()
        for _ in range(row):
            work()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) / 1e3 / row)
    return statistics.median(times)


def paired(torch_rate, assay_rate, rounds=2):
    """PyTorch and assay in turn; the mean rate of each."""
    theirs, ours = [], []
    for _ in range(rounds):
        theirs.append(torch_rate())
        torch.cuda.empty_cache()
        ours.append(assay_rate())
    return statistics.mean(theirs), statistics.mean(ours)


def compare_memory(assay, table, quick):
    for size in ["8GiB"] if quick else ["64MiB", "1GiB", "8GiB"]:
        bytes_ = {"64MiB": 64 << 20, "1GiB": GIB, "8GiB": 8 * GIB}[size]

        def torch_copy():
            x = torch.randn(bytes_ // 4, device="cuda")
            y = torch.empty_like(x)
            return 2 * bytes_ / torch_seconds(lambda: y.copy_(x))

        theirs, ours = paired(torch_copy, lambda: assay.median(
            "memory", "op=copy", "dtype=f32,f64", f"size={size}"), 1 if quick else 3)
        table.add(f"device copy {size}, our kernel vs copy_", theirs / 1e9, ours / 1e9, "", "GB/s",
                  None)
        theirs, ours = paired(torch_copy, lambda: assay.median(
            "copy", "direction=d2d", "memory=pinned", f"size={size}"), 1 if quick else 3)
        least = 1.0 if size == "8GiB" else None
        table.add(f"device copy {size}, copy d2d vs copy_", theirs / 1e9, ours / 1e9,
                  ">= 1.00x" if least else "", "GB/s", least)
    for op in ["triad", "read", "add", "mul", "dot", "write"]:
        ours = assay.median("memory", f"op={op}", "dtype=f32,f64", "size=8GiB")
        wanted = op in ("triad", "read")
        table.add(f"memory {op} 8GiB, share of 4.8 TB/s in %", None, ours / 4.8e12 * 100,
                  ">= 92" if wanted else "", "%", 92 if wanted else None)


def compare_link(assay, table):
    host = torch.empty(256 << 20, dtype=torch.uint8, pin_memory=True)
    device = torch.empty_like(host, device="cuda")
    for direction, work in [("h2d", lambda: device.copy_(host, non_blocking=True)),
                            ("d2h", lambda: host.copy_(device, non_blocking=True))]:
        theirs, ours = paired(lambda: host.numel() / torch_seconds(work), lambda: assay.median(
            "copy", f"direction={direction}", "memory=pinned", "size=256MiB"))
        table.add(f"pinned {direction} 256MiB", theirs / 1e9, ours / 1e9, "", "GB/s", None)
        table.add(f"pinned {direction} 256MiB, absolute", None, ours / 1e9, ">= 55 GB/s", "GB/s", 55)


def torch_gemm_rate(m, n, k, dtype):
    """The best of matmul NN, matmul NT and linear: chosen by one measurement, rated by a fresh one."""
    a = torch.randn(m, k, device="cuda", dtype=dtype)
    b = torch.randn(k, n, device="cuda", dtype=dtype)
    bt = torch.randn(n, k, device="cuda", dtype=dtype)
    out = torch.empty(m, n, device="cuda", dtype=dtype)
    ways = [lambda: torch.matmul(a, b, out=out), lambda: torch.matmul(a, bt.t(), out=out),
            lambda: torch.nn.functional.linear(a, bt)]
    best = min(ways, key=lambda way: torch_seconds(way, ROW))
    return 2.0 * m * n * k / torch_seconds(best, ROW, sustained=True)


def compare_gemm(assay, table, shapes, rounds, names):
    for name in names:
        dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[name]
        for shape in shapes:
            m, n, k = map(int, shape.split("x"))
            cell = ("gemm", f"shape={shape}", f"dtype={name}", "inputs=normal", f"chain={ROW}",
                    "layout=any")
            rates = {"torch": [], "default": [], "best": []}
            for _ in range(rounds):  # PyTorch before and after assay, so that heat meets both alike
                rates["torch"].append(torch_gemm_rate(m, n, k, dtype))
                for algorithm in ("default", "best"):
                    rates[algorithm].append(assay.median(*cell, f"algorithm={algorithm}"))
                rates["torch"].append(torch_gemm_rate(m, n, k, dtype))
                torch.cuda.empty_cache()
            print("    " + "  ".join(f"{who} " + " ".join(f"{v / 1e12:.1f}" for v in values)
                                     for who, values in rates.items()))
            mean = {who: statistics.mean(values) / 1e12 for who, values in rates.items()}
            for algorithm, least in [("default", 0.99), ("best", 1.0)]:
                table.add(f"gemm {shape} {name} {algorithm}", mean["torch"], mean[algorithm],
                          f">= {least:.2f}x", "TFLOP/s", least)


def compare_inputs(assay, table):
    rates = {inputs: assay.median("gemm", "shape=8192x8192x8192", "dtype=bf16", "layout=TN",
                                  "algorithm=default", f"inputs={inputs}")
             for inputs in ["zeros", "ones", "integers", "normal"]}
    for inputs, rate in rates.items():
        table.add(f"gemm 8192 bf16 inputs={inputs}", None, rate / 1e12, "", "TFLOP/s", None)
    table.add("gemm 8192 bf16 zeros over normal", None, rates["zeros"] / max(rates["normal"], 1),
              ">= 1.10, seen before: 1.22", "x", 1.10)


def compare_fp8(assay, table):
    m = n = k = 8192
    a = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fn)
    b = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn).t()
    scale = torch.ones((), device="cuda")

    def theirs():
        work = lambda: torch._scaled_mm(a, b, scale, scale, out_dtype=torch.bfloat16,
                                        use_fast_accum=True)
        return 2.0 * m * n * k / torch_seconds(work, sustained=True)

    other, ours = paired(theirs, lambda: assay.median(
        "gemm", "shape=8192x8192x8192", "dtype=e4m3", "layout=TN", "accumulate=fast",
        "algorithm=default,best"))
    table.add("gemm 8192 fp8 e4m3 vs _scaled_mm", other / 1e12, ours / 1e12, "measured", "TFLOP/s",
              None)


def compare_runs(assay, table, quick):
    """Two consecutive runs: the same cells, medians within 0.5%."""
    cells = [("memory", "op=copy,triad,read", "dtype=f64", "size=1GiB,8GiB"),
             ("gemm", "shape=8192x8192x8192,16384x16384x16384", "dtype=bf16", "layout=TN",
              "algorithm=default", "inputs=normal")]
    worst = 0.0
    for words in cells[:1] if quick else cells:
        runs = [{json.dumps(r["axes"]): r["value"]["median"] for r in assay.run(*words)
                 if "value" in r} for _ in range(2)]
        for cell in runs[0]:
            change = abs(runs[1].get(cell, 0) / runs[0][cell] - 1) * 100
            worst = max(worst, change)
            axes = " ".join(json.loads(cell).get(k, "") for k in ("op", "size", "shape", "dtype"))
            table.add(f"second run, {axes.strip()}"[:44], None, change, "<= 0.5 %", "%", None)
    table.add("second run, 0.5 - largest difference", None, 0.5 - worst, ">= 0", "%", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assay", default="build/assay")
    parser.add_argument("--out", default="gpu-check-results")
    parser.add_argument("--quick", action="store_true", help="fewer shapes and rounds")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="MxNxK of the gemm rows")
    parser.add_argument("--rounds", type=int, default=1, help="rounds of the gemm rows")
    parser.add_argument("--dtype", default="bf16,f16", help="of the gemm rows; default bf16,f16")
    parser.add_argument("--only", help="comma-separated: memory,link,gemm,inputs,fp8,runs")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("compare_gpu: PyTorch sees no GPU")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True
    assay, table = Assay(options.assay, options.out), Table()
    parts = {"memory": lambda: compare_memory(assay, table, options.quick),
             "link": lambda: compare_link(assay, table),
             "gemm": lambda: compare_gemm(assay, table, options.shapes.split(","), options.rounds,
                                          options.dtype.split(",")),
             "inputs": lambda: compare_inputs(assay, table),
             "fp8": lambda: compare_fp8(assay, table),
             "runs": lambda: compare_runs(assay, table, options.quick)}
    for name in (options.only.split(",") if options.only else parts):
        parts[name]()
        torch.cuda.empty_cache()
    passed = table.show()
    with open(os.path.join(options.out, "comparison.json"), "w") as file:
        json.dump(dict(device=torch.cuda.get_device_name(), torch=torch.__version__,
                       rows=table.rows), file, indent=1)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
