"""Strangers among ranks, lost ranks, and other builds of the program."""
import os
import re
import signal
import socket
import struct
import threading
import time

SECRET = "a secret of this attack"


def words(*more):
    return ["run", "collective", "op=all_reduce", "dtype=f32", "redop=sum", "place=out", "library=tcp", "size=4KiB,64KiB", "--device", "fake",
            "--telemetry", "off", "--out", "-", *more]


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def place(rank, size, port, secret=SECRET):
    return {"ASSAY_RANK": str(rank), "ASSAY_RANKS": str(size), "ASSAY_LOCAL_RANK": str(rank), "ASSAY_ADDRESS": f"127.0.0.1:{port}",
            "ASSAY_TOKEN": secret}


def greeting(kind, text=b"", length=None, magic=b"assay/3 "):
    return magic + kind + b"0" * 64 + b"%04d" % (len(text) if length is None else length) + text


SHAPES = [b"", b"\0" * 90, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\0", greeting(b"c"), greeting(b"c")[:20], greeting(b"?", b"team "),
          greeting(b"c", b"", 9999), greeting(b"c") + b"x" * (1 << 20), greeting(b"c", magic=b"assay/2 "), greeting(b"+"), greeting(b"s"),
          greeting(b"c") + greeting(b"?", b"0.1.0 (x)\nteam " + b"\0" * 40)]


def call(port, shape, reset):
    try:
        sock = socket.create_connection(("127.0.0.1", port), timeout=2)
        if reset:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.sendall(shape)
        return sock
    except OSError:
        return None


def passed(outcome):
    return outcome.fault() or ("" if outcome.status == 0 else f"status {outcome.status}: {outcome.err[-300:]!r}")


def strangers(trial):
    random = trial.random("strangers")
    port, size = free_port(), 2
    first = trial.start(words(), place(0, size, port))
    callers, connected, end = [], 0, time.monotonic() + 60
    while connected < trial.count(230) and time.monotonic() < end and first.poll() is None:
        shape = random.choice(SHAPES)
        shape = shape if random.random() < 0.7 else bytes(byte ^ (random.random() < 0.02) << 3 for byte in shape)
        sock = call(port, shape, random.random() < 0.3)
        if sock is None:
            time.sleep(0.05)
            continue
        connected += 1
        callers.append(sock)
        if len(callers) > 100 or random.random() < 0.5:
            callers.pop(random.randrange(len(callers))).close()
    second = trial.start(words(), place(1, size, port))
    outcome, other = trial.end(first, 120), trial.end(second, 30)
    for fault in passed(outcome), other.fault(), "" if connected else "nobody listened":
        trial.judge("strangers where ranks meet", fault, f"{connected} callers")
    for sock in callers:
        sock.close()


def stranger_as_rank_0(trial):
    for shape in SHAPES[1:]:
        port = free_port()
        listener = socket.create_server(("127.0.0.1", port))
        listener.settimeout(60)
        rank = trial.start(words("--patience", "5s"), place(1, 2, port))
        try:
            sock, _ = listener.accept()
            sock.sendall(shape)
            time.sleep(0.1)
            sock.close()
        except OSError:
            pass
        listener.close()
        first = trial.start(words(), place(0, 2, port))
        other, outcome = trial.end(rank, 120), trial.end(first, 120)
        trial.judge("strangers in rank 0's place", passed(outcome) or other.fault(), repr(shape[:40]))


class Corrupting(threading.Thread):
    """Passes bytes on between a rank and rank 0, and flips bits of them once both have greeted."""

    def __init__(self, port, to, random):
        super().__init__(daemon=True)
        self.listener, self.to, self.random = socket.create_server(("127.0.0.1", port)), to, random
        self.listener.settimeout(60)
        self.start()

    def run(self):
        try:
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.to), timeout=30)
                for source, sink in (near, far), (far, near):
                    threading.Thread(target=self.pass_on, args=(source, sink), daemon=True).start()
        except OSError:
            self.listener.close()

    def pass_on(self, source, sink):
        passed = 0
        try:
            while data := bytearray(source.recv(1 << 16)):
                passed += len(data)
                if passed > 1000 and self.random.random() < 0.2:
                    data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def corruption(trial):
    random = trial.random("corruption")
    for _ in range(trial.count(3)):
        port, between = free_port(), free_port()
        first = trial.start(words("--patience", "3s"), place(0, 2, port))
        time.sleep(0.5)  # until it listens, most likely
        Corrupting(between, port, random)
        second = trial.start(words("--patience", "3s"), place(1, 2, between))
        trial.judge("corruption after the greeting", trial.end(first, 120).fault(), "rank 0")
        fault = trial.end(second, 120).fault()  # the others leave the words to rank 0
        trial.judge("corruption after the greeting", "" if fault.endswith("without a word") else fault, "rank 1")


def other_tokens(trial):
    port = free_port()
    first = trial.start(words("--patience", "3s"), place(0, 2, port))
    second = trial.start(words("--patience", "3s"), place(1, 2, port, "another secret of mine"))
    for one in first, second:
        outcome = trial.end(one, 120)
        trial.judge("ranks with different tokens", outcome.fault() or ("they measure together" if outcome.status == 0 else ""), "")
    outcome = trial.run(words(), 60, place(0, 2, port, "short"))
    trial.judge("ranks with different tokens", outcome.fault() or ("" if outcome.status == 2 else "a short token is taken"), "a short one")


def ports(trial):
    """Two runs on one port, and ranks that meet over IPv6."""
    port = free_port()
    first = trial.start(words(), place(0, 2, port))
    end = time.monotonic() + 30
    while (sock := call(port, b"", True)) is None and time.monotonic() < end and first.poll() is None:
        time.sleep(0.05)
    another = trial.run(words("--patience", "3s"), 60, place(0, 2, port))
    named = str(port).encode() in another.err and another.status == 4
    trial.judge("two runs on a port", another.fault() or ("" if named else f"status {another.status}: {another.err[-300:]!r}"), "the second")
    second = trial.start(words(), place(1, 2, port))
    trial.judge("two runs on a port", passed(trial.end(first, 120)) or trial.end(second, 30).fault(), "the first")
    if sock:
        sock.close()
    port = free_port()
    ranks = [trial.start(words(), {**place(rank, 2, port), "ASSAY_ADDRESS": f"[::1]:{port}"}) for rank in (0, 1)]
    trial.judge("ranks over IPv6", passed(trial.end(ranks[0], 120)) or trial.end(ranks[1], 30).fault(), "")


def other_build(trial):
    """A copy of the program of which one letter of the commit's name is another."""
    version = trial.run(["--version"]).out.decode()
    name = re.search(r"\(([^,]+),", version).group(1).encode()
    with open(trial.assay, "rb") as file:
        program = file.read()
    changed = name[:-1] + (b"0" if name[-1:] != b"0" else b"1")
    copy = trial.write("other-build", program.replace(name + b"\0", changed + b"\0"))
    os.chmod(copy, 0o755)
    port = free_port()
    first = trial.start(words("--patience", "3s"), place(0, 2, port))
    own, trial.assay = trial.assay, copy
    second = trial.start(words("--patience", "3s"), place(1, 2, port))
    trial.assay = own
    outcome, other = trial.end(first, 120), trial.end(second, 60)
    both = name in other.err and changed in other.err
    fault = outcome.fault() or other.fault() or ("" if outcome.status and other.status else "they measure together")
    trial.judge("ranks of other builds", fault or ("" if both else f"builds are not named: {other.err[-300:]!r}"), "")


def ranks_of(run):
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                number = re.search(rb"(?:^|\0)ASSAY_RANK=(\d+)", file.read())
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        if parent == run.pid and number:
            found[int(number.group(1))] = int(name)
    return found


def lost_ranks(trial):
    random = trial.random("lost")
    kinds = [(words("--ranks", "3", "--patience", "3s"), b": 2 cells"),
             (["run", "train", "model=1L2H32C64V", "batch=3", "sequence=16", "steps=1000000", "--device", "cpu", "--ranks", "3", "--patience", "3s",
               "--telemetry", "off", "--out", "-"], b"train: 1 cell")]
    for how in [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGHUP] * trial.count(1):
        for command, started in kinds:
            run, ranks = trial.start(command), {}
            end = time.monotonic() + 30
            while (len(ranks) < 2 or started not in trial.text_of(run)) and time.monotonic() < end and run.poll() is None:
                ranks = ranks_of(run)
                time.sleep(0.01)
            time.sleep(random.uniform(0, 2))
            victim = random.choice(sorted(ranks) or [0])
            if run.poll() is None and victim:
                os.kill(ranks[victim], how)
            outcome = trial.end(run, 90)
            fault = outcome.fault()
            if not fault and how in (signal.SIGTERM, signal.SIGHUP) and outcome.status not in (0, 130):
                fault = f"status {outcome.status}"
            if not fault and how in (signal.SIGKILL, signal.SIGSTOP) and outcome.status and f"rank {victim}".encode() not in outcome.err:
                fault = f"rank {victim} is not named: {outcome.err[-300:]!r}"
            left = [rank for rank, process in ranks.items() if os.path.exists(f"/proc/{process}/exe")]
            trial.judge("lost ranks", fault or (f"ranks {left} are left" if left else ""), f"{how.name} to rank {victim} of {command[1]}")


def lost_ranks_of_a_server(trial):
    for how in signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP:
        run = trial.start(["serve", "--port", "0", "--device", "cpu", "--model", "1L2H2K16D32C48F300V", "--precision", "f32", "--max-model-len", "128",
                           "--tensor-parallel", "2", "--patience", "3s"])
        end, ranks = time.monotonic() + 60, {}
        while (not ranks or b"listening" not in trial.text_of(run, "out")) and time.monotonic() < end and run.poll() is None:
            ranks = ranks_of(run)
            time.sleep(0.05)
        if 1 in ranks:
            os.kill(ranks[1], how)
        outcome = trial.end(run, 90)
        trial.judge("lost ranks of a server", outcome.fault() or ("" if 1 in ranks else "no rank 1"), how.name)


def attack(trial):
    strangers(trial)
    stranger_as_rank_0(trial)
    corruption(trial)
    other_tokens(trial)
    ports(trial)
    other_build(trial)
    lost_ranks(trial)
    lost_ranks_of_a_server(trial)
