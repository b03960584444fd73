"""Holds assay against nccl-tests and nvbandwidth on the GPUs of one machine, alternating, and prints tables.

  scripts/compare_links.py --assay build/assay --nccl-tests DIR --nvbandwidth FILE --ranks 8

nccl-tests: busbw at 16 MiB and more (wanted: 0.99x), time below (wanted: at most 1.02x), out of place, f32,
the median of the rounds on both sides. Exit status 1 if a row misses its mark.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

OPERATIONS = {"all_reduce": "all_reduce_perf", "all_gather": "all_gather_perf",
              "reduce_scatter": "reduce_scatter_perf", "all_to_all": "alltoall_perf"}
LARGE = 16 << 20


def run(words, log, timeout=580):
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        print(f"  {' '.join(words)}: no end within {timeout} s", flush=True)
        return ""
    log.write(f"$ {' '.join(words)}\n{done.stdout}\n{done.stderr}\n")
    log.flush()
    if done.returncode not in (0, 1):
        print(f"  {' '.join(words)}: exit {done.returncode}\n{done.stderr[-2000:]}", flush=True)
    return done.stdout


def nccl_tests(args, operation, log):
    """{size: (seconds, busbw)}, out of place."""
    words = [os.path.join(args.nccl_tests, OPERATIONS[operation]), "-t", str(args.ranks), "-g", "1",
             "-b", str(args.least), "-e", str(args.most), "-f", str(args.factor), "-n", "20", "-w", "5",
             "-c", "1"]
    rows = {}
    for line in run(words, log).splitlines():
        words = line.split()
        if len(words) == 13 and words[0].isdigit() and words[2] == "float":
            rows[int(words[0])] = (float(words[5]) * 1e-6, float(words[7]) * 1e9)
    return rows


def assay_collective(args, operation, log):
    words = [args.assay, "run", "collective", f"op={operation}", "dtype=f32", "place=out",
             f"size={args.least}..{args.most}*{args.factor}", "--ranks", str(args.ranks), "--out",
             os.path.join(args.out, "store"), "--json", "--telemetry", "off"]
    rows = {}
    for line in run(words, log).splitlines():
        record = json.loads(line)
        if record.get("status") == "passed":
            size = int(record["notes"]["bytes"]) if "bytes" in record["notes"] else None
            rows[size] = (record["seconds"]["median"], record["value"]["median"])
        elif "status" in record:
            print(f"  {record['axes']}: {record['status']}: {record.get('reason')}", flush=True)
    return rows


def collectives(args, log):
    missed = 0
    for operation in args.operations.split(","):
        theirs, ours = [], []
        for turn in range(args.rounds):
            pair = [lambda: theirs.append(nccl_tests(args, operation, log)),
                    lambda: ours.append(assay_collective(args, operation, log))]
            for one in pair if turn % 2 == 0 else reversed(pair):
                one()
        print(f"\n{operation}, {args.ranks} ranks: medians of {args.rounds} rounds")
        print(f"{'bytes':>12} {'nccl-tests us':>14} {'assay us':>10} {'ratio':>7} "
              f"{'nccl-tests GB/s':>16} {'assay GB/s':>11} {'ratio':>7}")
        for size in sorted(set.intersection(*(set(rows) for rows in theirs + ours))):
            a, b = ([statistics.median(rows[size][i] for rows in theirs) for i in (0, 1)],
                    [statistics.median(rows[size][i] for rows in ours) for i in (0, 1)])
            time, rate = b[0] / a[0], b[1] / a[1] if a[1] else float("nan")
            passed = rate >= 0.99 if size >= LARGE else time <= 1.02
            missed += not passed
            print(f"{size:>12} {a[0] * 1e6:>14.2f} {b[0] * 1e6:>10.2f} {time:>6.3f}x "
                  f"{a[1] / 1e9:>16.2f} {b[1] / 1e9:>11.2f} {rate:>6.3f}x"
                  f"{'' if passed else '  MISSED'}", flush=True)
    return missed


NVBANDWIDTH = {("copy", "destination", "pair"): "device_to_device_memcpy_read_ce",
               ("copy", "source", "pair"): "device_to_device_memcpy_write_ce",
               ("copy", "destination", "both"): "device_to_device_bidirectional_memcpy_read_ce",
               ("copy", "source", "both"): "device_to_device_bidirectional_memcpy_write_ce",
               ("kernel", "destination", "pair"): "device_to_device_memcpy_read_sm",
               ("kernel", "source", "pair"): "device_to_device_memcpy_write_sm"}


def nvbandwidth(args, test, log):
    """The mean over all pairs in B/s: SUM over the number of pairs."""
    text = run([args.nvbandwidth, "-t", test, "-b", str(args.copy_mib), "-i", "5"], log)
    for line in text.splitlines():
        if line.startswith("SUM"):
            pairs = args.ranks * (args.ranks - 1)
            return float(line.split()[-1]) * 1e9 / pairs
    return 0.0


def peer_copies(args, log):
    print(f"\npeer copies of {args.copy_mib} MiB, GB/s: mean over all pairs, medians of {args.rounds} rounds")
    missed = 0
    for (engine, by, pattern), test in NVBANDWIDTH.items():
        theirs, ours = [], []
        for _ in range(args.rounds):
            theirs.append(nvbandwidth(args, test, log))
            words = [args.assay, "run", "peer", f"pattern={pattern}", f"engine={engine}", f"by={by}",
                     f"size={args.copy_mib}MiB", "from=all", "to=all", "--out",
                     os.path.join(args.out, "store"), "--json", "--telemetry", "off"]
            values = []
            for line in run(words, log).splitlines():
                record = json.loads(line)
                if "value" in record:
                    values.append(record["value"]["median"])
                elif "status" in record:
                    print(f"  {record['axes']}: {record['status']}: {record.get('reason')}")
            # nvbandwidth gives one direction's rate while the other runs; ours counts the bytes of both.
            ways = 2 if pattern == "both" else 1
            ours.append(statistics.mean(values) / ways if values else 0.0)
        a, b = statistics.median(theirs), statistics.median(ours)
        ratio = b / a if a else float("nan")
        missed += not ratio >= 0.99
        print(f"{test:<48} nvbandwidth {a / 1e9:>8.1f}  assay {b / 1e9:>8.1f}  {ratio:.3f}x"
              f"{'' if ratio >= 0.99 else '  MISSED'}", flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--nccl-tests", help="folder of its programs")
    parser.add_argument("--nvbandwidth", help="its program")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--least", type=int, default=1024)
    parser.add_argument("--most", type=int, default=4 << 30)
    parser.add_argument("--factor", type=int, default=4)
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    parser.add_argument("--copy-mib", type=int, default=512)
    parser.add_argument("--out", default=os.environ.get("OUT", "compare-links-results"))
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    missed = 0
    with open(os.path.join(args.out, "output.log"), "a") as log:
        if args.nvbandwidth:
            missed += peer_copies(args, log)
        if args.nccl_tests:
            missed += collectives(args, log)
    print(f"\n{missed} rows missed")
    sys.exit(missed > 0)


main()
