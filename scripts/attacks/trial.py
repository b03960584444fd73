"""Runs the program on hostile input and counts what held and what fell, class by class."""
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time

STATUSES = {0, 1, 2, 3, 4, 5, 6, 130}
CPU_SECONDS = 20  # more for one run on a small input is a fall
RAW_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]|\x1b(?!\[[0-9;]*m)")


class Outcome:
    def __init__(self, status, out, err, seconds, cpu_seconds):
        self.status, self.out, self.err, self.seconds, self.cpu_seconds = status, out, err, seconds, cpu_seconds

    def fault(self):
        """What no input may cause; empty if nothing of that happened."""
        if self.status is None:
            return "it did not end"
        if self.status < 0:
            return f"it was ended by {signal.Signals(-self.status).name}"
        if self.status not in STATUSES:
            return f"status {self.status}"
        if self.cpu_seconds > CPU_SECONDS:
            return f"it took {self.cpu_seconds:.0f} CPU seconds"
        for name, text in ("output", self.out), ("error output", self.err):
            raw = RAW_CONTROL.search(text)
            if raw:
                return f"raw {raw.group()!r} in its {name}"
        if self.status and not self.err and not self.out:
            return f"status {self.status} without a word"
        return ""


class Trial:
    def __init__(self, assay, folder, seed, times):
        self.assay, self.folder, self.seed, self.times = os.path.abspath(assay), os.path.abspath(folder), seed, times
        self.held, self.fallen, self.messages, self.notes = {}, {}, [], []
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder + "/fallen")
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "XDG_CACHE_HOME": self.folder + "/cache",
                            "ASSAY_FAKE": "noise=0.01", "LC_ALL": "C"}

    def random(self, name):
        return random.Random(f"{self.seed} {name}")

    def count(self, number):
        """So many of a class, by --times."""
        return max(1, round(number * self.times))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.islink(path) or os.path.exists(path):
            os.remove(path)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def start(self, words, environment=None, files=None, **more):
        """The program as a process of its own group, whose output goes into files."""
        number = getattr(self, "processes", 0)
        self.processes = number + 1
        process = subprocess.Popen([self.assay, *words], cwd=self.folder, env={**self.environment, **(environment or {})},
                                   stdin=subprocess.DEVNULL, stdout=open(self.path(f"out{number}"), "wb"),
                                   stderr=open(self.path(f"err{number}"), "wb"), start_new_session=True, **more)
        process.number = number
        return process

    def text_of(self, process, which="err"):
        with open(self.path(f"{which}{process.number}"), "rb") as file:
            return file.read()

    def end(self, process, seconds=60, kill=False):
        """Waits for the process; ends its group, and says what it left behind."""
        begin, before, status = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN), None
        try:
            if not kill:
                status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        outcome = Outcome(status, self.text_of(process, "out"), self.text_of(process), time.monotonic() - begin, cpu)
        for which in "out", "err":
            os.remove(self.path(f"{which}{process.number}"))
        return outcome

    def run(self, words, seconds=60, environment=None, **more):
        return self.end(self.start(words, environment, **more), seconds)

    def judge(self, name, fault, what, keep=()):
        """Counts one input of a class. `keep` are the files that made it fall."""
        if not fault:
            self.held[name] = self.held.get(name, 0) + 1
            return True
        number = self.fallen[name] = self.fallen.get(name, 0) + 1
        self.messages.append(f"{name}: {fault}: {what}")
        print(f"FALLEN {self.messages[-1]}", flush=True)
        for path in keep:
            target = self.path(f"fallen/{name.replace(' ', '-').replace('/', '-')}-{number}-{os.path.basename(path)}")
            if os.path.isdir(path):
                shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
            elif os.path.exists(path):
                shutil.copyfile(path, target)
        return False

    def report(self):
        names = sorted({*self.held, *self.fallen})
        width = max(map(len, names), default=0)
        for name in names:
            print(f"{name:{width}}  {self.held.get(name, 0):6} held  {self.fallen.get(name, 0):4} fallen")
        for note in self.notes:
            print(f"left out: {note}")
        held, fallen = sum(self.held.values()), sum(self.fallen.values())
        print(f"seed {self.seed}: {held} held, {fallen} fallen")
        return fallen
