"""Damaged and hostile files for the commands that read them, and limits of what a process may have."""
import glob
import os
import resource
import shutil
import subprocess

from attacks.damage import TEXTS, damaged

PLAN = """name: p
suite: memory
axes: {op: [copy, triad], size: [4KiB, 8KiB]}
device: fake
pairs: {least: 6, most: 6}
unit_budget: 1s
environments:
  - {name: a, kind: host}
  - {name: b, kind: host, variables: {ASSAY_FAKE: "noise=0.01,launch=2e-4"}}
"""
SUITE = """name: s
description: a suite
cells:
  - {benchmark: memory, axes: {op: [copy, triad], size: 4KiB..64KiB*2}}
  - {command: [sh, -c, "echo 12.5 ms"], name: c, metrics: [{name: time, regex: '([0-9.]+) ms', unit: ms, better: lower}]}
"""
TUNING = """name: t
command: [sh, -c, 'echo $((10 + {x})) ms']
metrics: [{name: time, regex: '([0-9.]+) ms', unit: ms, better: lower}]
parameters: {x: [3, 1]}
budget: {runs: 20}
pairs: {least: 6, most: 6}
"""
PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) .maxntid 256, 1, 1
{
  .reg .b32 %r<9>; .reg .b64 %rd<5>; .shared .align 4 .b8 s[4096];
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; st.global.u32 [%rd1], %r1; ret;
}
"""
HIP = """#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
__global__ void k(float* a, int n) { __shared__ float s[64]; s[n & 63] = a[n]; a[n * 2] = s[(n + 1) & 63] * 3; }
"""


class Sources:
    """Sound files of every kind, made once."""

    def __init__(self, trial):
        def must(*words):
            outcome = trial.run(list(words), 300)
            if outcome.fault() or outcome.status in (2, 4, 5):
                raise SystemExit(f"assay {' '.join(words)}: {outcome.fault() or outcome.status}: {outcome.err.decode(errors='replace')}")
        self.store, self.good, self.campaign = trial.path("src/store"), trial.path("src/good"), trial.path("src/campaign")
        for store in self.store, self.good:
            for _ in range(6):
                must("run", "memory", "op=copy,triad", "dtype=f64", "size=4KiB", "cache=hot", "--budget", "1s", "--device", "fake", "--out", store)
        self.plan, self.suite = trial.write("src/plan.yaml", PLAN), trial.write("src/suite.yaml", SUITE)
        self.tuning = trial.write("src/tuning.yaml", TUNING)
        must("campaign", self.plan, "--out", self.campaign)
        self.baseline, self.capture = trial.path("src/baseline"), trial.path("src/capture.json")
        must("baseline", self.store, "-o", self.baseline)
        must("doctor", "--capture", self.capture)
        self.fingerprint = trial.write("src/fingerprint.json", trial.run(["fingerprint", "--json"]).out)
        self.history = trial.path("src/history.sqlite")
        must("history", "add", self.store, "--database", self.history)
        self.tuned = trial.path("src/tuned")
        must("tune", "command", self.tuning, "--out", self.tuned)
        self.fleet = trial.path("src/fleet")
        for node in "abcd":
            shutil.copytree(self.store, f"{self.fleet}/{node}")
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.outputs = [path for path in glob.glob(f"{root}/../shared/data/*/**", recursive=True) +
                        glob.glob(f"{root}/docs/results/*/whole/records.jsonl") + [f"{self.store}/records.jsonl"]
                        if os.path.isfile(path) and os.path.getsize(path) < 300_000]


def damaged_copy(trial, random, source, file):
    """A copy of a file or folder, in which one file was damaged."""
    copy = trial.path("damaged/" + os.path.basename(source))
    shutil.rmtree(trial.path("damaged"), ignore_errors=True)
    os.makedirs(trial.path("damaged"))
    if os.path.isdir(source):
        shutil.copytree(source, copy)
        target = os.path.join(copy, file)
    else:
        shutil.copyfile(source, copy)
        target = copy
    kind = random.randrange(12)
    if kind > 1 or not os.path.isdir(source):
        with open(target, "rb") as opened:
            data, how = damaged(opened.read(), random)
        with open(target, "wb") as opened:
            opened.write(data)
    else:
        os.remove(target)
        how = random.choice(["folder", "pipe", "link to itself", "device", "gone"])
        if how == "folder":
            os.mkdir(target)
        elif how == "pipe":
            os.mkfifo(target)
        elif how == "link to itself":
            os.symlink(os.path.basename(target), target)
        elif how == "device":
            os.symlink("/dev/zero", target)
    return copy, how


def read_damaged(trial):
    sources = Sources(trial)
    good, out = sources.good, trial.path("made")
    stores = [["show"], ["show", "--json"], ["compare", good], ["report", "-o", out], ["report", "--json"], ["baseline", "-o", out],
              ["history", "add", "--database", out], ["diff", good], ["import"], ["import", "--json"]]
    units = os.path.relpath(glob.glob(sources.campaign + "/**/units.jsonl", recursive=True)[0], sources.campaign)
    kinds = [  # name, source, files in it, commands that read it: None stands for the damaged copy
        ("store", sources.store, ["records.jsonl", "fingerprints.jsonl"], [[c[0], None, *c[1:]] if c[0] != "history" else
                                                                        ["history", "add", None, *c[2:]] for c in stores]),
        ("campaign", sources.campaign, [units, "plan.yaml", "a/records.jsonl", "b/fingerprints.jsonl"],
         [["compare", None], ["report", None, "-o", out], ["show", None], ["campaign", sources.plan, "--out", None]]),
        ("baseline", sources.baseline, [None], [["compare", None, good], ["show", None], ["report", None, "-o", out]]),
        ("capture", sources.capture, [None], [["doctor", "--from", None], ["doctor", "--from", None, "--json"], ["diff", None, "here"]]),
        ("fingerprint", sources.fingerprint, [None], [["diff", None, "here"], ["diff", "here", None, "--json"]]),
        ("history", sources.history, [None], [["history", "--database", None], ["history", "--database", None, "--json"],
                                               ["history", "add", good, "--database", None]]),
        ("plan", sources.plan, [None], [["campaign", None, "--dry-run"]]),
        ("suite", sources.suite, [None], [["run", None, "--dry-run"]]),
        ("tuning plan", sources.tuning, [None], [["tune", "command", None, "--dry-run"]]),
        ("tuning", sources.tuned, [os.path.relpath(path, sources.tuned) for path in
                                   sorted(glob.glob(sources.tuned + "/*"))if os.path.isfile(path)],
         [["tune", "command", sources.tuning, "--out", None], ["show", None]]),
        ("fleet", sources.fleet, ["b/records.jsonl", "c/fingerprints.jsonl"], [["fleet", None], ["fleet", None, "--json"]]),
    ]
    for name, source, files, commands in kinds:
        random = trial.random(name)
        for _ in range(trial.count(16)):
            for command in random.sample(commands, min(3, len(commands))):
                copy, how = damaged_copy(trial, random, source, random.choice(files))
                shutil.rmtree(out, ignore_errors=True)
                if os.path.exists(out):
                    os.remove(out)
                words = [copy if word is None else word for word in command]
                outcome = trial.run(words)
                trial.judge(f"damaged {name}", outcome.fault(), f"{how}: assay {' '.join(command[:2] if command[1] else command[:1])}", [copy])
    random = trial.random("outputs")
    for _ in range(trial.count(60)):
        source = random.choice(sources.outputs)
        for command in random.sample([["import", None], ["import", None, "--json"], ["compare", None, good],
                                      ["report", None, "-o", out]], 2):
            copy, how = damaged_copy(trial, random, source, None)
            outcome = trial.run([copy if word is None else word for word in command])
            trial.judge("damaged outputs of programs", outcome.fault(), f"{how}: assay {command[0]} {os.path.basename(source)}", [copy])


def gpu_code(trial):
    sources = [trial.write("src/k.ptx", PTX)]
    source = trial.write("src/k.hip", HIP)
    for extra, name in ([], "k.co"), (["-S"], "k.s"):
        output = trial.path("src/" + name)
        words = ["clang++-19", "-x", "hip", "--offload-arch=gfx942", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-O2", *extra,
                 "-o", output, source]
        try:
            compiled = subprocess.run(words, capture_output=True).returncode == 0
        except FileNotFoundError:
            compiled = False
        if compiled:
            sources.append(output)
        else:
            trial.notes.append(f"hostile GPU code made of {name}: clang++-19 does not compile it here")
    random = trial.random("gpu code")
    for _ in range(trial.count(75)):
        source = random.choice(sources)
        copy, how = damaged_copy(trial, random, source, None)
        outcome = trial.run(["occupancy", copy, *random.choice([[], ["--json"], ["--no-scan"], ["--block", "256"]])])
        trial.judge("hostile GPU code", outcome.fault(), f"{how}: {os.path.basename(source)}", [copy])


def yaml_bombs(trial):
    deep = "[" * 20_000 + "]" * 20_000
    aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
    bombs = {"aliases": aliases, "itself": "&a [*a]", "itself in a map": "a: &a {b: *a}", "deep": deep, "deep map": "{a: " * 20_000,
             "deep by lines": "".join(" " * i + "a:\n" for i in range(3000)), "tags": "!!binary |\n  gIGC\n", "merge": "<<: [{a: 1}, {b: 2}]",
             "many keys": "".join(f"k{i}: 1\n" for i in range(200_000)), "documents": "---\n" * 100_000,
             "long": "a: " + "x" * 10_000_000}
    for name, text in bombs.items():
        path = trial.write("bomb.yaml", text)
        for words in ["campaign", path, "--dry-run"], ["run", path, "--dry-run"], ["tune", "command", path, "--dry-run"]:
            trial.judge("YAML bombs", trial.run(words).fault(), f"{name}: assay {words[0]}", [path])


def limits(trial):
    """Small limits of memory, files, file size, stack and processes."""
    store, plan = trial.path("src/store"), trial.path("src/plan.yaml")
    out = trial.path("limited")
    commands = [["show", store], ["compare", store, trial.path("src/good")], ["report", store, "-o", out + ".html"], ["devices"],
                ["import", store + "/records.jsonl", "--out", out], ["fingerprint"], ["baseline", store, "-o", out + ".b"], ["list"],
                ["history", "add", store, "--database", out + ".sqlite"], ["fleet", trial.path("src/fleet")], ["doctor"],
                ["run", "memory", "op=copy", "size=4KiB", "--device", "fake", "--out", out], ["campaign", plan, "--dry-run"],
                ["tune", "command", trial.path("src/tuning.yaml"), "--out", out + ".t"], ["serve-sim", "--gpu", "H200", "--predict", "2"],
                ["diff", store, "here"], ["occupancy", trial.path("src/k.ptx")], ["load", "--url", "http://127.0.0.1:9", "--requests", "2"]]
    kinds = [(resource.RLIMIT_AS, [100 << 20, 200 << 20, 400 << 20]), (resource.RLIMIT_NOFILE, [8, 16, 64]),
             (resource.RLIMIT_FSIZE, [0, 1, 4096]), (resource.RLIMIT_STACK, [64 << 10, 256 << 10]), (resource.RLIMIT_CPU, [30])]
    random = trial.random("limits")
    for _ in range(trial.count(60)):
        words, (kind, values) = random.choice(commands), random.choice(kinds)
        value = random.choice(values)
        for path in glob.glob(out + "*"):
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        with_limit = f"import resource, os, sys; resource.setrlimit({kind}, ({value}, {value})); os.execv(sys.argv[1], sys.argv[1:])"
        outcome = Limited(trial, with_limit).run(words)
        fault = outcome.fault()
        if kind == resource.RLIMIT_AS and fault.startswith(("status 127", "it was ended by SIGKILL")):
            fault = ""  # the dynamic linker's or the kernel's word
        if kind == resource.RLIMIT_FSIZE and fault.endswith("without a word"):
            fault = ""  # the words go to files, too
        trial.judge("limits", fault, f"{value} of {kind}: assay {' '.join(words[:2])}: {outcome.err[-300:]!r}")


class Limited:
    def __init__(self, trial, code):
        self.trial, self.code = trial, code

    def run(self, words):
        assay, trial = self.trial.assay, self.trial
        trial.assay = "/usr/bin/env"
        try:
            return trial.run(["python3", "-c", self.code, assay, *words])
        finally:
            trial.assay = assay


def odd_names(trial):
    random = trial.random("names")
    texts = [os.fsdecode(text) for text in TEXTS if text and b"\0" not in text and len(text) < 200]
    for _ in range(trial.count(20)):
        command = random.choice([["show"], ["compare"], ["run"], ["import"], ["report"], ["help"], ["diff"], ["fleet"], ["occupancy"],
                                 ["run", "memory"], ["run", "memory", "size=4KiB", "--device"], ["load", "--url"], ["serve", "--model"]])
        words = command + random.choices(texts, k=random.choice([1, 2]))
        trial.judge("odd arguments", trial.run(words).fault(), " ".join(map(repr, words)))


def attack(trial):
    read_damaged(trial)
    gpu_code(trial)
    yaml_bombs(trial)
    limits(trial)
    odd_names(trial)
