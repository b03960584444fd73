"""Clients that do harm: to assay serve and assay serve-sim, while a good client asks."""
import http.client
import json
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import time

from attacks.damage import damaged

TINY = ["serve", "--port", "0", "--device", "cpu", "--model", "1L2H1K16D32C48F300V", "--precision", "f32", "--max-model-len", "128",
        "--max-num-seqs", "8", "--max-num-batched-tokens", "32"]
SIMULATED = ["serve-sim", "--port", "0", "--ttft", "1ms", "--itl", "1ms"]
PATIENCE = 20  # s until a good client must have its answer
FIELDS = ["prompt", "max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "min_p", "seed", "n", "best_of", "stream", "stop",
          "stop_token_ids", "min_tokens", "ignore_eos", "logprobs", "echo", "presence_penalty", "frequency_penalty", "repetition_penalty",
          "logit_bias", "messages", "tools", "response_format", "guided_json", "stream_options", "model", "user", "suffix", "return_token_ids",
          "prompt_logprobs", "n_predict", "inputs", "parameters", "add_special_tokens", "modalities", "audio"]
VALUES = [None, True, False, 0, 1, -1, 2, 1.5, 2.0, 1e300, -1e300, 2 ** 64, 10 ** 40, "", "1", "true", "x", [], [1], [[1]], [[]], {}, {"a": 1},
          [None], ["x"], [1, "x"], [299], [300], [-1], [4294967295], [[1, 2], [3]], {"include_usage": 1}, "\x00\x1b[2J", "\ud800", [1] * 5000]


class Server:
    def __init__(self, trial, words, environment=None, **more):
        self.trial, self.process, self.port = trial, trial.start(words, environment, **more), 0
        end = time.monotonic() + 60
        while not self.port and time.monotonic() < end and self.process.poll() is None:
            found = re.search(rb"listening on http://127.0.0.1:(\d+)\n", trial.text_of(self.process, "out"))
            self.port = int(found.group(1)) if found else 0
            time.sleep(0.02)

    def connect(self, seconds=PATIENCE):
        return socket.create_connection(("127.0.0.1", self.port), timeout=seconds)

    def say(self, data, seconds=5):
        """What the server answers until it closes or is silent."""
        reply = b""
        try:
            with self.connect(seconds) as sock:
                sock.sendall(data)
                while len(reply) < 1 << 20:
                    part = sock.recv(1 << 16)
                    if not part:
                        break
                    reply += part
                    if b"0\r\n\r\n" in reply[-7:] or complete(reply):
                        break
        except OSError as error:
            return reply, error
        return reply, None

    def is_well(self):
        """Empty if a good client is answered at once."""
        if self.process.poll() is not None:
            return f"the server ended with {self.process.returncode}: {self.trial.text_of(self.process)[-300:]!r}"
        try:
            client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            client.request("POST", "/v1/completions", json.dumps({"prompt": [1, 2, 3], "max_tokens": 2}), {"Content-Type": "application/json"})
            reply = client.getresponse()
            text = reply.read()
            if reply.status != 200 or not json.loads(text)["choices"]:
                return f"a good request is answered {reply.status} {text[:200]!r}"
        except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
            return f"a good request is not answered: {error!r}"
        return ""

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) * 1024

    def stop(self, number=signal.SIGTERM, times=1):
        for _ in range(times):
            self.process.send_signal(number)
        outcome = self.trial.end(self.process, 30)
        return outcome.fault() or ("" if outcome.status in (0, 130) else f"it ended with {outcome.status}: {outcome.err[-300:]!r}")


def complete(reply):
    head, separator, body = reply.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.I)
    return bool(separator and length and len(body) >= int(length.group(1)))


def request(body, path="/v1/completions", method="POST", fields="Host: localhost\r\nContent-Type: application/json\r\n"):
    body = body if isinstance(body, bytes) else body.encode()
    return f"{method} {path} HTTP/1.1\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body


def statuses(reply):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3})", reply)]


def malformed_heads(trial, server, kind):
    random = trial.random("heads")
    good = request('{"prompt":[1],"max_tokens":1}')
    body = b'{"prompt":[1],"max_tokens":1}'
    host, typed = b"Host: localhost\r\n", b"Content-Type: application/json\r\n"
    shapes = [b"", b"\r\n\r\n", b"\0" * 100, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET\r\n\r\n",
              b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"G" * 100_000, host * 5000,
              b"GET /health HTTP/1.1\n\n", b"get /health http/1.1\r\n\r\n", b"GET  /health  HTTP/1.1\r\n\r\n",
              b"POST /v1/completions HTTP/1.1\r\n" + host + typed + b"Content-Length: -1\r\n\r\n",
              b"POST /v1/completions HTTP/1.1\r\n" + host + typed + b"Content-Length: 99999999999999999999\r\n\r\n",
              b"POST /v1/completions HTTP/1.1\r\n" + host + typed + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
              b"POST /v1/completions HTTP/1.1\r\n" + host + typed + b"Content-Length: 0x1d\r\n\r\n" + body,
              b"POST /v1/completions HTTP/1.1\r\n" + host + typed + b"Transfer-Encoding: xchunked\r\n\r\n" + good,
              b"POST /v1/completions HTTP/1.1\r\n" + host + typed + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
              b"POST /v1/completions HTTP/1.1\r\n" + host + typed + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
              b"POST /v1/completions HTTP/1.1\r\n" + host + typed + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n",
              b"POST /v1/completions HTTP/1.1\r\n" + host + typed + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 100_000 + b"0\r\n\r\n",
              b"POST /v1/completions HTTP/1.1\r\n" + host + typed + b"Expect: 100-continue\r\nContent-Length: 29\r\n\r\n" + body,
              b"GET /health HTTP/1.1\r\n" + host + b" folded: 1\r\n\r\n", b"GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n",
              b"GET /health HTTP/1.1\r\n" + host + b"X: \x1b[2J\x00\r\n\r\n", b"OPTIONS * HTTP/1.1\r\n" + host + b"\r\n",
              b"CONNECT a:1 HTTP/1.1\r\n" + host + b"\r\n", b"GET http://[::1/x HTTP/1.1\r\n" + host + b"\r\n",
              b"GET /../../etc/passwd HTTP/1.1\r\n" + host + b"\r\n", b"GET /%00%ff HTTP/1.1\r\n" + host + b"\r\n", good * 200]
    shapes += [damaged(good, random)[0] for _ in range(trial.count(20))]
    for shape in shapes:
        reply, _ = server.say(shape[:2_000_000], 1)
        bad = [status for status in statuses(reply) if status >= 500]
        trial.judge(f"malformed HTTP, {kind}", f"status {bad[0]}" if bad else server.is_well(), repr(shape[:200]))


def odd_bodies(trial, server, kind):
    random = trial.random("bodies")
    for number in range(trial.count(60)):
        body = {"prompt": [1, 2], "max_tokens": 2}
        path = random.choice(["/v1/completions", "/v1/completions", "/v1/chat/completions", "/tokenize", "/completion", "/generate", "/detokenize"])
        if "chat" in path:
            body = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 2}
        for _ in range(random.choice([1, 1, 2, 4])):
            body[random.choice(FIELDS)] = random.choice(VALUES)
        text = json.dumps(body).encode()
        if number % 3 == 0:
            text = damaged(text, random)[0][:1_000_000]
        reply, _ = server.say(request(text, path), 10)
        found = statuses(reply)
        fault = "" if found and found[0] < 500 or found[:1] == [501] else f"it is answered {reply[:200]!r}"
        trial.judge(f"parameters and JSON, {kind}", fault or server.is_well(), f"{path} {text[:300]!r}")


def vanishing_clients(trial, server, kind):
    random = trial.random("vanish")
    good = request(json.dumps({"prompt": [1, 2], "max_tokens": 100, "stream": True}))
    for number in range(trial.count(350)):
        try:
            sock = server.connect()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)) if number % 2 else None
            how = random.randrange(5)
            sock.sendall(good[:random.randrange(len(good))] if how < 2 else good)
            if how == 3:
                sock.recv(random.choice([1, 200]))
            if how == 4:
                sock.shutdown(socket.SHUT_WR)
            sock.close()
        except OSError:
            pass
        if number % 50 == 49:
            trial.judge(f"fifty clients that vanish, {kind}", server.is_well(), "")
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        page = server.say(request("", "/metrics", "GET"))[0]
        busy = re.search(rb"\n(?:vllm:|assay_\w*)num_requests_running\S* ([\d.]+)", page)
        if not busy or float(busy.group(1)) == 0:
            return
        time.sleep(0.1)
    trial.judge(f"fifty clients that vanish, {kind}", "their requests are still computed", "")


def slow_clients(trial, words, kind):
    """1,100 connections that say nothing and 40 bodies without an end, where 1,024 files may be open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1500:
        trial.notes.append(f"slow clients, {kind}: this process may not open 1,500 files")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1500), hard))
    server = Server(trial, words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)))
    clients, part = [], b" " * (1 << 20)
    for number in range(1140):
        try:
            clients.append(server.connect())
            if number % 3 == 0 and number < 1100:
                clients[-1].sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Le")
            if number >= 1100:
                clients[-1].sendall(request(b"", fields="Host: localhost\r\nContent-Type: application/json\r\n").replace(
                    b"Content-Length: 0", b"Content-Length: 31457281"))
                for _ in range(30):
                    clients[-1].sendall(part)
        except OSError:
            pass  # the server has left this one
        if number % 100 == 99 or number >= 1130:
            trial.judge(f"slow clients, {kind}", server.is_well(), f"{number + 1} of them")
    most = 700 << 20
    trial.judge(f"slow clients, {kind}", "" if server.memory() < most else f"it took {server.memory() >> 20} MiB", "memory")
    for client in clients:
        client.close()
    trial.judge(f"slow clients, {kind}", server.stop(), "its end")


def signals(trial, words, kind):
    for number, times in (signal.SIGTERM, 1), (signal.SIGHUP, 1), (signal.SIGTERM, 2), (signal.SIGINT, 1):
        server = Server(trial, words)
        streams = []
        for _ in range(20):
            streams.append(server.connect())
            streams[-1].sendall(request(json.dumps({"prompt": [1, 2], "max_tokens": 100, "stream": True})))
        streams[0].recv(10)
        trial.judge(f"signals while it streams, {kind}", server.stop(number, times), f"{signal.Signals(number).name} x {times}")
        for stream in streams:
            stream.close()


def streams_and_wholes(trial, server, kind):
    random = trial.random("streams")
    for _ in range(trial.count(30)):
        body = {"prompt": [random.randrange(250) for _ in range(random.randrange(1, 40))], "max_tokens": random.randrange(1, 40), "temperature": 1,
                "seed": random.randrange(1000), "ignore_eos": True}
        try:
            whole = json.loads(server.say(request(json.dumps(body)), 30)[0].partition(b"\r\n\r\n")[2])["choices"][0]
            reply, _ = server.say(request(json.dumps({**body, "stream": True})), 30)
            events = [json.loads(line) for line in re.findall(rb"data: (\{.*\})", reply)]
            text = "".join(choice["text"] for event in events for choice in event["choices"])
            ends = [choice["finish_reason"] for event in events for choice in event["choices"] if choice.get("finish_reason")]
            fault = "" if text == whole["text"] and ends == [whole["finish_reason"]] else f"{text!r} {ends} for {whole}"
        except (ValueError, KeyError) as error:
            fault = repr(error)
        trial.judge(f"streams against whole replies, {kind}", fault, json.dumps(body)[:200])


NODE = """const url = process.argv[1];
const ask = body => fetch(url, {method: 'POST', headers: {'Content-Type': 'application/json'}, body});
(async () => {
  const whole = await (await ask('{"prompt":[1],"max_tokens":3}')).json();
  const stream = await (await ask('{"prompt":[1],"max_tokens":3,"stream":true}')).text();
  const large = await ask(' '.repeat(40 << 20));
  console.log(whole.choices.length, stream.includes('[DONE]'), large.status);
})();"""


def real_clients(trial, server, kind):
    url = f"http://127.0.0.1:{server.port}/v1/completions"
    large = trial.write("large", b" " * (40 << 20))
    body = '{"prompt":[1],"max_tokens":3,"stream":true}'
    curl = ["curl", "-sS", "-m", "60", "-H", "Content-Type: application/json"]
    asked = {"curl": ([*curl, "-d", body, url], b"[DONE]"),
             "curl, a large body": ([*curl, "-o", "/dev/null", "-w", "%{http_code}", "--data-binary", "@" + large, url], b"413"),
             "node": (["node", "-e", NODE, url], b"1 true 413")}
    for name, (words, wanted) in asked.items():
        if not shutil.which(words[0]):
            trial.notes.append(f"real clients: there is no {words[0]}")
            continue
        found = subprocess.run(words, capture_output=True, timeout=120)
        trial.judge(f"real clients, {kind}", "" if wanted in found.stdout else f"{found.stdout[-200:]!r} {found.stderr[-300:]!r}", name)


def odd_settings(trial):
    for words in (["--max-num-seqs", "0"], ["--max-num-batched-tokens", "1"], ["--max-model-len", "1"], ["--max-model-len", "99999999999"],
                  ["--num-gpu-blocks-override", "1"], ["--gpu-memory-utilization", "nan"], ["--port", "70000"], ["--host", "::::"], ["--seed", "-1"],
                  ["--model", "0L"], ["--model", "1L2H"], ["--weights", "/dev/zero"], ["--tokenizer", "/proc/self/mem"], ["--partitions", "999999"]):
        process = trial.start([*TINY, *words])
        end = time.monotonic() + 15
        while process.poll() is None and time.monotonic() < end and b"listening" not in trial.text_of(process, "out"):
            time.sleep(0.05)
        if process.poll() is None:
            process.terminate()
        trial.judge("odd settings of serve", trial.end(process, 30).fault(), " ".join(words))


def attack(trial):
    for kind, words in ("serve-sim", SIMULATED), ("serve", TINY):
        server = Server(trial, words)
        if not server.port:
            trial.judge(f"{kind} starts", "it does not listen", trial.text_of(server.process).decode(errors="replace"))
            continue
        malformed_heads(trial, server, kind)
        odd_bodies(trial, server, kind)
        vanishing_clients(trial, server, kind)
        real_clients(trial, server, kind)
        if kind == "serve":
            streams_and_wholes(trial, server, kind)
        trial.judge(f"{kind} ends", server.stop(), "after all of that")
        slow_clients(trial, words, kind)
        signals(trial, words, kind)
    odd_settings(trial)
