#!/usr/bin/env python3
"""Loads an OpenAI-compatible server as `vllm bench serve` does, to hold assay's load generator against.

  scripts/aiohttp_load.py --url http://127.0.0.1:8000 --concurrency 100 --requests 1000 [--prompt-tokens 32]
      [--output-tokens 128] [--warm-up 100] [--nominal-ttft 0.05 --nominal-itl 0.01]

The same work per event as there (its endpoint_request_func.py, written anew here): one aiohttp
session whose connections are kept and limited to the concurrency; a semaphore taken before a request's
clock starts; the body's pieces as they arrive, split on blank lines, the remainder tried as JSON; each
event parsed, then stamped by perf_counter. A piece with `choices` is an event: the first gives TTFT,
later ones gaps (ITL). Prints one JSON object; times are in seconds, over events of successful requests.
With a server whose times are known, --nominal-ttft and --nominal-itl (seconds) add how far each measured
one is from it, as an absolute value: what the client and its machine add.

As there, pieces are stripped, so most events lose their blank line and are parsed twice, and a comment
(": ping") that arrives in a piece of its own spoils the rest of its answer, whose request then fails.

Needs python3-aiohttp.
"""

import argparse
import asyncio
import codecs
import gc
import json
import math
import os
import random
import resource
import sys
import time

import aiohttp

SAFE_IDS = range(1000, 28000)  # above special tokens, within the smallest common vocabulary (32000)
SPARE_FILES = 64  # open files that are not connections


class Events:
    """Server-sent events out of pieces of a body that end anywhere."""

    def __init__(self):
        self.rest = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()

    def feed(self, piece):
        self.rest += self.decoder.decode(piece)
        complete = []
        while "\n\n" in self.rest:
            event, self.rest = self.rest.split("\n\n", 1)
            if event := event.strip():
                complete.append(event)
        if self.rest.startswith("data: ") and self.rest_is_complete():
            complete.append(self.rest.strip())
            self.rest = ""
        return complete

    def rest_is_complete(self):
        """A piece is stripped before it comes here, so its last event mostly lacks its blank line."""
        data = self.rest[len("data: "):].strip()
        if data == "[DONE]":
            return True
        try:
            json.loads(data)
        except json.JSONDecodeError:
            return False
        return True


class Answer:
    def __init__(self):
        self.ttft = 0.0
        self.itl = []
        self.output_tokens = None
        self.text = ""
        self.error = "no event with choices"


async def ask(session, url, payload):
    """One request, from before it is sent to the end of its answer."""
    answer = Answer()
    start = last = time.perf_counter()
    try:
        async with session.post(url, json=payload) as response:
            if response.status != 200:
                answer.error = f"status {response.status}: {(await response.text())[:200]}"
                return answer
            events = Events()
            async for piece in response.content.iter_any():
                piece = piece.strip()
                if not piece:
                    continue
                for event in events.feed(piece):
                    if event.startswith(":"):
                        continue
                    data = event.removeprefix("data: ")
                    if data == "[DONE]":
                        continue
                    message = json.loads(data)
                    if choices := message.get("choices"):
                        now = time.perf_counter()
                        if answer.error:
                            answer.error = ""
                            answer.ttft = now - start
                        else:
                            answer.itl.append(now - last)
                        last = now
                        answer.text += choices[0].get("text") or ""
                    elif usage := message.get("usage"):
                        answer.output_tokens = usage.get("completion_tokens")
    except Exception as error:  # whatever a server sends, one request fails and the run goes on
        answer.error = f"{type(error).__name__}: {error}"
    return answer


async def ask_all(session, options, model, count, rng):
    """All `count` requests at once, of which --concurrency are in flight."""
    free = asyncio.Semaphore(options.concurrency)

    async def ask_in_turn(payload):
        async with free:
            return await ask(session, options.url + "/v1/completions", payload)

    payloads = [{
        "model": model,
        "prompt": rng.choices(SAFE_IDS, k=options.prompt_tokens),
        "repetition_penalty": 1.0,
        "max_tokens": options.output_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
    } for _ in range(count)]
    return await asyncio.gather(*[asyncio.create_task(ask_in_turn(payload)) for payload in payloads])


async def first_model(session, url):
    async with session.get(url + "/v1/models") as response:
        response.raise_for_status()
        return (await response.json())["data"][0]["id"]


def percentile(ordered, percent):
    """Linear interpolation, as numpy does by default; of nothing 0, as vLLM reports."""
    if not ordered:
        return 0.0
    place = (len(ordered) - 1) * percent / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def summary(values):
    ordered = sorted(values)
    mean = math.fsum(ordered) / len(ordered) if ordered else 0.0
    return {"mean": mean, "p50": percentile(ordered, 50), "p99": percentile(ordered, 99)}


def errors(values, nominal):
    ordered = sorted(abs(value - nominal) for value in values)
    return {"p50": percentile(ordered, 50), "p99": percentile(ordered, 99), "max": percentile(ordered, 100)}


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def allow_files(count):
    """Each connection is an open file; Debian allows 1024 unless asked for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        if hard != resource.RLIM_INFINITY and hard < count and os.geteuid() != 0:
            sys.exit(f"{sys.argv[0]}: {count} open files are needed, {hard} allowed: raise `ulimit -Hn`")
        larger_hard = hard if hard == resource.RLIM_INFINITY else max(hard, count)
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, larger_hard))


async def measure(options):
    connector = aiohttp.TCPConnector(limit=options.concurrency, limit_per_host=options.concurrency,
                                     enable_cleanup_closed=True, **options.connection)
    timeout = aiohttp.ClientTimeout(total=6 * 60 * 60)
    rng = random.Random(options.seed)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=True) as session:
        model = options.model or await first_model(session, options.url)
        await ask_all(session, options, model, options.warm_up, rng)
        gc.collect()
        gc.freeze()
        cpu, start = cpu_seconds(), time.perf_counter()
        answers = await ask_all(session, options, model, options.requests, rng)
        duration, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    return answers, duration, cpu


def report(options, answers, duration, cpu):
    good = [answer for answer in answers if not answer.error]
    ttft = [answer.ttft for answer in good]
    itl = [gap for answer in good for gap in answer.itl]
    events = len(ttft) + len(itl)
    result = {
        "requests": len(answers),
        "failed": len(answers) - len(good),
        "duration": duration,
        "events": events,
        "events_per_second": events / duration,
        "output_tokens": sum(answer.output_tokens or 0 for answer in good),
        "ttft": summary(ttft),
        "itl": summary(itl),
        "cpu_seconds": cpu,
        "max_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    if options.nominal_ttft is not None:
        result["ttft_error"] = errors(ttft, options.nominal_ttft)
    if options.nominal_itl is not None:
        result["itl_error"] = errors(itl, options.nominal_itl)
    if failed := [answer.error for answer in answers if answer.error]:
        result["first_error"] = failed[0]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--url", required=True, help="of the server, without /v1")
    parser.add_argument("--model", help="(default: the first of /v1/models)")
    parser.add_argument("--concurrency", type=int, default=1, help="requests in flight (default 1)")
    parser.add_argument("--requests", type=int, default=100, help="(default 100)")
    parser.add_argument("--prompt-tokens", type=int, default=32, help="random token ids (default 32)")
    parser.add_argument("--output-tokens", type=int, default=128, help="(default 128)")
    parser.add_argument("--warm-up", type=int, default=0, help="requests before, not counted (default 0)")
    parser.add_argument("--seed", type=int, default=0, help="of the prompts (default 0)")
    parser.add_argument("--no-keep-alive", dest="connection", action="store_const",
                        const={"force_close": True}, default={"keepalive_timeout": 60},
                        help="a connection for each request, for servers that close theirs unannounced")
    parser.add_argument("--nominal-ttft", type=float, help="the server's, seconds")
    parser.add_argument("--nominal-itl", type=float, help="the server's, seconds")
    options = parser.parse_args()
    if min(options.concurrency, options.requests, options.prompt_tokens, options.output_tokens) < 1:
        parser.error("--concurrency, --requests, --prompt-tokens and --output-tokens must be at least 1")
    options.url = options.url.rstrip("/")
    allow_files(options.concurrency + SPARE_FILES)
    try:
        answers, duration, cpu = asyncio.run(measure(options))
    except (aiohttp.ClientError, OSError, KeyError, IndexError) as error:
        sys.exit(f"{sys.argv[0]}: {options.url}/v1/models: {type(error).__name__}: {error}")
    print(json.dumps(report(options, answers, duration, cpu), indent=2))


if __name__ == "__main__":
    main()
