"""Servers that do harm to assay load; its options, addresses, headers and files of prompts."""
import json
import random as random_module
import socketserver
import threading
import time

from attacks.damage import damaged

MODELS = json.dumps({"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 8192}]}).encode()
REQUESTS = 6


def event(fields):
    return b"data: " + (fields if isinstance(fields, bytes) else json.dumps(fields).encode()) + b"\n\n"


def token(text="a", finish=None):
    return event({"id": "c", "object": "text_completion", "choices": [{"index": 0, "text": text, "finish_reason": finish}]})


def usage(tokens):
    return event({"id": "c", "choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": tokens, "total_tokens": 8}})


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


SOUND = [token("w "), token("w "), token("w ", "length"), usage(3), event(b"[DONE]")]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def sound(say, _):
    say(HEAD)
    for part in SOUND:
        say(chunk(part))
    say(b"0\r\n\r\n")


def said(*parts, head=HEAD, end=b"0\r\n\r\n"):
    def behave(say, _):
        say(head)
        for part in parts:
            say(chunk(part) if head == HEAD else part)
        say(end)
    return behave


def endless(part, head=HEAD):
    def behave(say, _):
        say(head)
        for _ in range(300_000):  # until the client has had enough
            say(chunk(part) if head == HEAD else part)
    return behave


def noisy(say, random):
    say(damaged(HEAD + b"".join(map(chunk, SOUND)) + b"0\r\n\r\n", random)[0])


def odd_events(say, random):
    say(HEAD)
    for part in SOUND:
        say(chunk(damaged(part, random)[0]) if random.random() < 0.5 else chunk(part))
    say(b"0\r\n\r\n")


def silent(say, _):
    say(HEAD)
    time.sleep(4)


BEHAVIOURS = {
    "sound": sound, "noisy": noisy, "odd events": odd_events, "odd events again": odd_events, "silent": silent,
    "gone": lambda say, _: None, "an empty reply": said(), "no chunk": lambda say, _: say(HEAD), "only [DONE]": said(event(b"[DONE]")),
    "claims that text cannot hold": said(token("a"), token("b"), usage(500), event(b"[DONE]")),
    "one event claims all": said(token("a"), usage(128)), "negative usage": said(token("a"), usage(-1)), "huge usage": said(token("a"), usage(1 << 63)),
    "usage of 1e300": said(token("a"), event(b'{"choices":[],"usage":{"completion_tokens":1e300}}')), "byte order mark": said(b"\xef\xbb\xbf" + token("a"), *SOUND),
    "tokens after the end": said(*SOUND, token("x"), token("x")), "not JSON": said(event(b"{")), "deep JSON": said(event(b"[" * 100_000)),
    "escapes": said(token("\x1b[2J\x07" * 10), *SOUND), "invalid UTF-8": said(event(b'{"choices":[{"index":0,"text":"\xff\xfe"}]}')),
    "an error event": said(event({"error": {"message": "\x1b]0;x\x07 token=SECRETSECRET", "code": 500}})),
    "another choice": said(event({"choices": [{"index": 7, "text": "a"}]})), "choices are no list": said(event({"choices": {"a": 1}})),
    "endless tokens": endless(token("w ")), "endless comments": endless(b": ping\n\n"), "an endless line": endless(b"x" * 1000),
    "endless headers": endless(b"X: y\r\n", b"HTTP/1.1 200 OK\r\n"), "endless interim replies": endless(b"HTTP/1.1 100 Continue\r\n\r\n", b""),
    "a huge chunk": said(head=HEAD, end=b"ffffffffffff\r\nx"), "a negative chunk": said(head=HEAD, end=b"-5\r\nx"),
    "a bad length": said(head=b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", end=b"x"), "status 500": said(head=b"HTTP/1.1 500 \x1b[2J\r\nContent-Length: 0\r\n\r\n", end=b""),
    "status 429": said(head=b"HTTP/1.1 429 Too Many\r\nRetry-After: 999999999\r\nContent-Length: 0\r\n\r\n", end=b""),
    "a redirect": said(head=b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n", end=b""),
    "not HTTP": said(head=b"SSH-2.0-OpenSSH\r\n", end=b""), "gzip": said(head=b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n", end=b"\x1f\x8b\x08\0"),
    "never closed": lambda say, _: (say(b"HTTP/1.1 200 OK\r\n\r\n" + b"".join(SOUND)), time.sleep(4)), "held back": lambda say, _: (time.sleep(0.2), sound(say, _)),
}


class Hostile(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads, request_queue_size = True, True, 100

    def __init__(self, behave, seed, models=MODELS):
        self.behave, self.seed, self.models, self.asked = behave, seed, models, 0
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # the client has left


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        self.request.settimeout(30)
        while True:
            head, length = [], 0
            for line in self.rfile:
                if line in (b"\r\n", b"\n"):
                    break
                head.append(line)
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not head:
                return
            self.rfile.read(length)
            if head[0].startswith(b"GET"):
                models = self.server.models
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(models), models))
                continue
            self.server.asked += 1
            self.server.behave(self.request.sendall, random_module.Random(f"{self.server.seed} {self.server.asked}"))
            if self.server.behave is not sound:
                return


def load(trial, server, more=(), seconds=120):
    words = ["load", "--url", f"http://127.0.0.1:{server.server_address[1]}", "--requests", str(REQUESTS), "--max-concurrency", "2", "--input", "8",
             "--output-tokens", "3", "--timeout", "1s", "--request-timeout", "5s", "--telemetry", "off", "--out", trial.path("loads"), *more]
    return trial.run(words, seconds, {"OPENAI_API_KEY": "SECRETKEY123"})


def hostile_servers(trial):
    for name, behave in BEHAVIOURS.items():
        with Hostile(behave, trial.seed) as server:
            outcome = load(trial, server)
            fault = outcome.fault()
            if not fault and b"SECRETKEY123" in outcome.out + outcome.err:
                fault = "it shows the key"
            if not fault and "claim" in name and outcome.status == 0 and b"malformed" not in outcome.out + outcome.err:
                fault = "counts that the text cannot hold passed"
            if not fault and name == "sound" and outcome.status != 0:
                fault = f"a sound server gets status {outcome.status}"
            trial.judge("hostile servers for load", fault, f"{name}: {outcome.err[-200:]!r}")
            server.shutdown()


def odd_models(trial):
    random = trial.random("models")
    for _ in range(trial.count(10)):
        models, how = damaged(MODELS, random)
        with Hostile(sound, trial.seed, models) as server:
            trial.judge("odd lists of models", load(trial, server).fault(), f"{how} {models[:200]!r}")
            server.shutdown()


def odd_options(trial):
    random = trial.random("options")
    texts = ["0", "-1", "1e-300", "1e300", "nan", "inf", "", "x", "99999999999999999999", "1,,2", "1:2", ":", "\x1b[2J", "a" * 5000, "{}", "[", "-"]
    options = ["--requests", "--max-concurrency", "--request-rate", "--input", "--output-tokens", "--header", "--extra-body", "--timeout", "--duration",
               "--goodput", "--find-rate", "--percentiles", "--ramp", "--ramp-rate", "--burstiness", "--seed", "--repeat", "--warm-up", "--dataset",
               "--file", "--turns", "--think", "--prefix", "--prefixes", "--spread", "--api", "--model", "--balance", "--url", "--telemetry"]
    with Hostile(sound, trial.seed) as server:
        for _ in range(trial.count(40)):
            option, text = random.choice(options), random.choice(texts)
            words = ["load", "--url", f"http://127.0.0.1:{server.server_address[1]}", "--requests", "4", "--out", "-", "--duration", "1s", option, text]
            if option in ("--requests", "--duration"):
                words.remove(option) if words.count(option) > 1 else None
            outcome = trial.run(words, 30)
            if outcome.status is None and text in ("1e-300",):
                outcome.status = 0  # a rate at which nothing is sent
            trial.judge("odd options of load", outcome.fault(), f"{option} {text[:40]!r}")
        server.shutdown()


def files_of_prompts(trial):
    entries = [{"conversations": [{"from": "human", "value": "hello there, how are you " * 3}, {"from": "gpt", "value": "fine, thank you " * 5}]}] * 20
    kinds = {"sharegpt": json.dumps(entries).encode(), "jsonl": b"".join(json.dumps({"prompt": f"say {i}", "output_tokens": 3}).encode() + b"\n" for i in range(20)),
             "trace": b"".join(json.dumps({"timestamp": i * 10, "input_length": 9, "output_length": 3, "hash_ids": [i]}).encode() + b"\n" for i in range(20))}
    random = trial.random("prompts")
    with Hostile(sound, trial.seed) as server:
        for _ in range(trial.count(30)):
            name = random.choice(list(kinds))
            data, how = damaged(kinds[name], random)
            path = trial.write("prompts", data)
            words = ["load", "--url", f"http://127.0.0.1:{server.server_address[1]}", "--requests", "4", "--max-concurrency", "2", "--out", "-",
                     "--timeout", "1s", "--dataset", name, "--file", path]
            trial.judge("files of prompts", trial.run(words, 30).fault(), f"{name} {how}", [path])
        cut = trial.write("prompts", json.dumps(entries)[:-1])  # after a whole entry
        words[-3:] = ["sharegpt", "--file", cut]
        outcome = trial.run(words, 30)
        trial.judge("files of prompts", outcome.fault() or ("" if outcome.status == 2 else "a cut file is taken"), "cut after an entry", [cut])
        server.shutdown()


def attack(trial):
    hostile_servers(trial)
    odd_models(trial)
    odd_options(trial)
    files_of_prompts(trial)
