#!/usr/bin/env python3
"""Loses ranks of a training and looks at what is said about it.

    scripts/lose_ranks.py [--assay build/assay] [--times 20] [--ranks 4] [--seed 1] [--slower 1] [--record FILE] [FAULT ...]

Each time a training on CPU ranks begins, and at a random moment a random rank other than 0

    kill    is killed
    stop    is stopped, for good
    delay   is stopped for three times --patience, and then goes on
    memory  may not take more memory, before a cell that needs more

Held: the run ends before its deadline, names that rank and none beside it that was well, leaves no process behind, and its store
can be read. parallel= changes from time to time. --slower is how many times as long as on an idle machine it may take to end, beside
what ranks wait for one another. --record keeps a line of JSON of each time: the fault, the rank, the seconds after which the run
ended, and what it said. Exit status 1 if anything of that failed.
"""
import argparse
import json
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

# s that ranks wait for one another. One that gets no memory says so; with little patience, slow ones would be lost.
PATIENCE = {"kill": 3, "stop": 3, "delay": 3, "memory": 30}
SILENCE = 5  # s until a rank that says nothing counts as lost: --patience, but at least this
FAREWELL = 10  # s that the others get to end
MODEL = ["model=2L2H64C64V", "sequence=16"]
WAYS = ["ddp", "zero1", "fsdp"]


def ranks_of(run):
    """Process ids by rank of the ranks that the run has started."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                variables = dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        if parent == run.pid and b"ASSAY_RANK" in variables:
            found[int(variables[b"ASSAY_RANK"])] = int(name)
    return found


def wait_for(what, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = what()
        if result:
            return result
        time.sleep(0.01)
    raise TimeoutError


def harm(fault, process):
    """Does the fault to the process; what must be done later, and when, or None."""
    if fault == "kill":
        os.kill(process, signal.SIGKILL)
    elif fault == "memory":
        with open(f"/proc/{process}/statm") as file:
            pages = int(file.read().split()[0])
        most = pages * resource.getpagesize() + (64 << 20)
        resource.prlimit(process, resource.RLIMIT_AS, (most, most))
    else:
        os.kill(process, signal.SIGSTOP)
        if fault == "delay":
            return time.monotonic() + 3 * PATIENCE[fault], lambda: os.kill(process, signal.SIGCONT)
    return None


def trial(arguments, fault, parallel, chance):
    """What is wrong with how the run ended (None: nothing), seconds until then, the rank, and what the run said of it."""
    # The first cell is measured whole, for the store; then the second runs.
    cells = ["batch=2,4096", "steps=9,400"] if fault == "memory" else ["batch=2", "steps=9,1000000"]
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "err")
        with open(log, "wb") as err:
            run = subprocess.Popen(
                [arguments.assay, "run", "train", "--device", "cpu", "--telemetry", "off", "--ranks",
                 str(arguments.ranks), "--patience", f"{PATIENCE[fault]}s", "--out", os.path.join(folder, "r"),
                 f"parallel={parallel}", *MODEL, *cells],
                stdout=subprocess.DEVNULL, stderr=err)

        def said():
            with open(log, encoding="utf-8", errors="replace") as file:
                return file.read()

        try:
            wait_for(lambda: "[1/" in said() or run.poll() is not None, 120)
            ranks = ranks_of(run)
            time.sleep(chance.uniform(0, 0.3 if fault == "memory" else 1.5))
            rank = chance.randrange(1, arguments.ranks)
            if rank not in ranks:
                return f"rank {rank} was not there before: {said()[-300:]}", 0, rank, ""
            start = time.monotonic()
            later = harm(fault, ranks[rank])
            # Until a rank counts as lost, until the others stop waiting for it, and some for ending.
            deadline = start + 2 * PATIENCE[fault] + SILENCE + 15 * arguments.slower + (3 * PATIENCE[fault] if later else 0)
            while run.poll() is None and time.monotonic() < deadline:
                if later and time.monotonic() > later[0]:
                    try:
                        later[1]()
                    except ProcessLookupError:
                        pass  # the run has ended it
                    later = None
                time.sleep(0.01)
            seconds = time.monotonic() - start
            text = said()
            told = [line[line.find(": error: ") + 1:] for line in text.splitlines() if f"rank {rank} on " in line]
            errors = " / ".join(line.strip() for line in told)

            def outcome(wrong):
                return wrong, seconds, rank, errors

            if run.poll() is None:
                return outcome("it hangs")
            if run.returncode == 0:
                return outcome("exit status 0")
            if f"rank {rank} on " not in text:
                return outcome(f"rank {rank} is not named: {text[-300:]}")
            # Rank 0 also says that, and after which step, it waited.
            others = [i for i in range(1, arguments.ranks) if i != rank and f"rank {i} on " in text]
            if others:
                return outcome(f"rank {others[0]} is named, too: {text[-300:]}")
            # A run that gives up at once leaves it to its ranks to notice that.
            try:
                wait_for(lambda: not any(os.path.exists(f"/proc/{process}") for process in ranks.values()), FAREWELL)
            except TimeoutError:
                left = [i for i, process in ranks.items() if os.path.exists(f"/proc/{process}")]
                return outcome(f"rank {left[0]} still runs")
            with open(os.path.join(folder, "r", "records.jsonl"), encoding="utf-8") as file:
                statuses = [json.loads(line).get("status") for line in file]
            shown = subprocess.run([arguments.assay, "show", os.path.join(folder, "r")],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
            if "passed" not in statuses or shown.returncode != 0:
                return outcome(f"the store has {statuses}; show ends with {shown.returncode}")
            return outcome(None)
        finally:
            for process in ranks_of(run).values():
                os.kill(process, signal.SIGKILL)
            run.kill()
            run.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assay", default="build/assay")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slower", type=float, default=1)
    parser.add_argument("--record")
    parser.add_argument("faults", nargs="*", default=["kill", "stop", "delay", "memory"])
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    failed = 0
    for fault in arguments.faults:
        seconds = []
        for i in range(arguments.times):
            parallel = WAYS[i % len(WAYS)]
            wrong, took, rank, said = trial(arguments, fault, parallel, chance)
            seconds.append(took)
            if arguments.record:
                with open(arguments.record, "a", encoding="utf-8") as file:
                    json.dump({"fault": fault, "parallel": parallel, "rank": rank, "seconds": round(took, 2), "wrong": wrong,
                               "said": said}, file)
                    file.write("\n")
            if wrong:
                failed += 1
                print(f"{fault} {i + 1}, parallel={parallel}: {wrong}", flush=True)
        print(f"{fault}: {arguments.times} times, ended after {statistics.median(seconds):.1f} s, "
              f"at most {max(seconds):.1f} s", flush=True)
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
