#!/usr/bin/env python3
"""Holds assay's files of TunableOp against PyTorch itself, both ways, on a machine with a GPU and
PyTorch (ROCm or CUDA; there, TunableOp knows no solution but "Default", and keys are what is held).

  scripts/check_tunableop.py [--assay build/assay]

1. PyTorch tunes a few products and writes its results; assay reads the file, finds nothing that does
   not fit, and writes it again; PyTorch takes what assay wrote, and has the same rows.
2. PyTorch records what it calls untuned; assay reads that file as the products that were called.
3. assay tunes these products; PyTorch takes its results file, runs the same calls with tuning on,
   and finds each in the file: it adds no row of its own.
4. A file with a wrong validator is refused by both, by assay with the validator's name.
Exits with 1 on any disagreement, with 2 if there is no such machine."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--assay", default="build/assay")
# Each step that enables TunableOp is a process of its own: its state cannot be reset.
parser.add_argument("--step", help=argparse.SUPPRESS)
parser.add_argument("--file", help=argparse.SUPPRESS)
arguments = parser.parse_args()

if not arguments.step:  # what the user has set is not what is checked
    for name in list(os.environ):
        if name.startswith("PYTORCH_TUNABLEOP_"):
            del os.environ[name]


def calls(torch):
    """The calls that all steps make. Their keys are PyTorch's to say."""
    half, brain, single = torch.float16, torch.bfloat16, torch.float32
    new = lambda *shape, dtype: torch.randn(*shape, device="cuda").to(dtype)
    functional = torch.nn.functional
    functional.linear(new(24, 64, dtype=brain), new(48, 64, dtype=brain))
    functional.linear(new(16, 96, dtype=half), new(32, 96, dtype=half), new(32, dtype=half))
    torch.mm(new(40, 16, dtype=single), new(16, 24, dtype=single))
    torch.mm(new(32, 24, dtype=brain).t(), new(32, 40, dtype=brain))
    torch.bmm(new(3, 16, 8, dtype=brain), new(3, 8, 24, dtype=brain))
    torch.bmm(new(2, 16, 8, dtype=half), new(2, 24, 8, dtype=half).transpose(1, 2))
    torch.mm(new(16, 32, dtype=brain)[:, :24], new(24, 40, dtype=brain))  # a longer row
    torch.cuda.synchronize()


def in_pytorch():
    import torch
    import torch.cuda.tunable as tunable

    tunable.set_filename(os.path.join(tempfile.gettempdir(), "nowhere", "none.csv"))
    if hasattr(tunable, "write_file_on_exit"):
        tunable.write_file_on_exit(False)
    tunable.set_max_tuning_iterations(1)
    tunable.set_max_tuning_duration(1)
    answer = {"version": torch.__version__, "hip": torch.version.hip}
    if arguments.step == "write":
        tunable.enable(True)
        tunable.tuning_enable(True)
        calls(torch)
        # Some releases write rows as they find them and have no write_file.
        if hasattr(tunable, "write_file"):
            answer["written"] = tunable.write_file(arguments.file)
        if not os.path.exists(arguments.file):
            lines = ["Validator,%s,%s" % tuple(pair) for pair in tunable.get_validators()]
            lines += ["%s,%s,%s,%g" % tuple(row[:4]) for row in tunable.get_results()]
            with open(arguments.file, "w") as out:
                out.write("\n".join(lines) + "\n")
            answer["written"] = "from get_results()"
    else:
        tunable.enable(True)
        tunable.tuning_enable(False)
        torch.mm(torch.ones(16, 16, device="cuda"), torch.ones(16, 16, device="cuda"))
        answer["accepted"] = bool(tunable.read_file(arguments.file))
        answer["read"] = [list(row[:3]) for row in tunable.get_results()]
        if arguments.step == "run":
            tunable.tuning_enable(True)
            calls(torch)
            answer["after"] = [list(row[:3]) for row in tunable.get_results()]
    answer["rows"] = [list(row[:3]) for row in tunable.get_results()]
    answer["validators"] = [list(pair) for pair in tunable.get_validators()]
    print("answer:" + json.dumps(answer))


def record_untuned():
    import torch
    import torch.cuda.tunable as tunable

    if not hasattr(tunable, "record_untuned_enable"):
        print("answer:" + json.dumps({"absent": "record_untuned_enable"}))
        return
    tunable.enable(True)
    tunable.tuning_enable(False)
    tunable.record_untuned_enable(True)
    calls(torch)
    print("answer:" + json.dumps({}))


def step(name, path, environment=None):
    """Runs one step in a process of its own; the file may have the device's number in its name."""
    process = subprocess.run(
        [sys.executable, os.path.abspath(__file__), "--step", name, "--file", path],
        cwd=os.path.dirname(path), env={**os.environ, **(environment or {})},
        capture_output=True, text=True)
    for line in process.stdout.splitlines():
        if line.startswith("answer:"):
            return json.loads(line[len("answer:"):])
    sys.exit("step %s failed:\n%s" % (name, process.stderr[-2000:]))


def assay(*words):
    process = subprocess.run([os.path.abspath(arguments.assay), "tune", "gemm", *words],
                             capture_output=True, text=True)
    return process.returncode, process.stdout, process.stderr


def rows_of(path):
    with open(path) as file:
        lines = [line.rstrip("\n").split(",") for line in file]
    return [line for line in lines if line and line[0] != "Validator"]


disagreements = 0


def hold(what, holds, detail=""):
    global disagreements
    print("%-76s %s" % (what, "yes" if holds else "NO " + str(detail)))
    disagreements += 0 if holds else 1


def main():
    try:
        import torch
    except ImportError as error:
        print("no PyTorch: %s" % error)
        return 2
    if not torch.cuda.is_available():
        print("PyTorch %s sees no GPU" % torch.__version__)
        return 2
    print("PyTorch %s, %s" % (torch.__version__,
                              "ROCm " + torch.version.hip if torch.version.hip
                              else "CUDA " + str(torch.version.cuda)))
    with tempfile.TemporaryDirectory() as folder:
        theirs = os.path.join(folder, "theirs.csv")
        written = step("write", theirs)
        keys = sorted(row[:2] for row in written["rows"])
        hold("PyTorch tuned products (%d)" % len(keys), len(keys) >= 5, keys)

        # 1. PyTorch's file through assay.
        status, out, err = assay("--read", theirs, "--out", os.path.join(folder, "merged"),
                                 "--python", sys.executable, "--json")
        report = json.loads(out) if out.startswith("{") else {"files": []}
        unfit = [row for file in report["files"] for row in file["rows"] if not row["fits"]]
        reasons = [reason for file in report["files"] for reason in file["reasons"]]
        hold("assay finds that PyTorch's own file fits", status == 0, reasons + unfit + [err])
        merged = os.path.join(folder, "merged", "tunableop_results.csv")
        hold("assay writes it again", os.path.exists(merged), err)
        if os.path.exists(merged):
            hold("with the same rows", sorted(rows_of(merged)) == sorted(rows_of(theirs)))
            again = step("read", merged)
            hold("PyTorch takes what assay wrote", again["accepted"])
            hold("and has the same rows",
                 sorted(again["read"]) == sorted(row[:3] for row in rows_of(theirs)),
                 again["read"])
            run = step("run", merged)
            hold("and finds all its calls in it",
                 sorted(row[:2] for row in run["after"]) == keys, run["after"])

        # 2. What PyTorch records untuned.
        untuned = os.path.join(folder, "untuned.csv")
        recorded = step("untuned", untuned,
                        {"PYTORCH_TUNABLEOP_UNTUNED_FILENAME": os.path.join(folder, "untuned%d.csv"),
                         "PYTORCH_TUNABLEOP_RECORD_UNTUNED": "1"})
        found = [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                 if name.startswith("untuned")]
        source = theirs
        if "absent" in recorded or not found:
            print("this PyTorch records nothing untuned: its results stand for it")
        else:
            source = found[0]
            hold("it recorded the calls that it tuned",
                 sorted(row[:2] for row in rows_of(source)) == keys, rows_of(source))
        status, out, err = assay("--from", source, "--dry-run", "--json")
        listed = json.loads(out) if status == 0 else []
        hold("assay reads each as a product", len(listed) == len(keys), err or listed)

        # 3. assay's own results.
        tuned = os.path.join(folder, "tuned")
        status, out, err = assay("--from", source, "--out", tuned, "--python", sys.executable,
                                 "--check-pytorch", "--json")
        hold("assay tunes them", status == 0, err)
        if status == 0:
            result = json.loads(out)
            files = result.get("tunableop", [])
            hold("and writes results for PyTorch", len(files) > 0, err)
            for path in files[:1]:
                run = step("run", path)
                hold("PyTorch takes them", run["accepted"])
                hold("under its own keys",
                     sorted(row[:2] for row in run["read"]) == keys, run["read"])
                hold("and finds all its calls in them",
                     sorted(row[:2] for row in run["after"]) == keys, run["after"])
            checked = result.get("check", {})
            hold("assay's --check-pytorch says so too",
                 checked.get("accepted") and all(row["taken"] for row in checked["rows"]), checked)
            if torch.version.hip:
                print("solutions: " + ", ".join(row[2] for row in rows_of(files[0])))

        # 4. A file of another PyTorch.
        wrong = os.path.join(folder, "wrong.csv")
        with open(theirs) as good, open(wrong, "w") as bad:
            for line in good:
                bad.write("Validator,PT_VERSION,1.0.0\n" if ",PT_VERSION," in line else line)
        refused = step("read", wrong)
        hold("PyTorch refuses a file of another version",
             not refused["accepted"] or not refused["read"], refused["read"])
        status, out, err = assay("--read", wrong, "--python", sys.executable)
        hold("assay does too, with the validator's name",
             status == 1 and "PT_VERSION is 1.0.0" in out, out + err)
    print("%d disagreements" % disagreements)
    return 1 if disagreements else 0


if arguments.step == "untuned":
    record_untuned()
elif arguments.step:
    in_pytorch()
else:
    sys.exit(main())
