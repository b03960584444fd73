#include "cli/load_request.h"

namespace assay::cli {

std::vector<Option> load_options() {
  return {
      {"--url", "URL", "a server, e.g. http://127.0.0.1:8000; give several for several servers", "",
       true},
      {"--spawn", "COMMAND",
       "instead of --url: start this server, e.g. \"vllm serve MODEL --port {port}\", and stop it "
       "afterwards; {port} and {index} are replaced",
       ""},
      {"--servers", "N", "with --spawn: number of servers, one GPU each; default 1", ""},
      {"--spawn-env", "NAME=VALUE",
       "with --spawn: environment variable, e.g. HIP_VISIBLE_DEVICES={index}", "", true},
      {"--spawn-timeout", "TIME", "with --spawn: time within which they must answer; default 10min",
       ""},
      {"--api", "NAME", "completions (default), chat, llamacpp or tgi",
       "completions chat llamacpp tgi"},
      {"--model", "NAME", "model name; default: the first that the server lists", ""},
      {"--request-rate", "LIST",
       "open loop: requests per second; several values make a sweep, inf sends all at once", ""},
      {"--max-concurrency", "LIST",
       "requests in flight: a closed loop, or a cap with a rate; several make a sweep", ""},
      {"--requests", "N",
       "requests per point: a number, 10x the concurrency, or 60s at the rate; default with "
       "--find-rate: 30s, at least 100",
       ""},
      {"--duration", "TIME", "send no requests after this time", ""},
      {"--find-rate", "TARGETS",
       "search for the highest rate that meets these, e.g. p99_ttft:200ms,mean_tpot:50ms: mean, "
       "median or a percentile of ttft, tpot, itl or e2el; or attainment:95% of --goodput",
       ""},
      {"--precision", "SHARE", "with --find-rate: precision of the rate; default 5%", ""},
      {"--most-rate", "R", "with --find-rate: highest rate to try", ""},
      {"--burstiness", "B",
       "gaps between arrivals are gamma distributed with this shape: 1 (default) is Poisson, less "
       "gives bursts, inf equal gaps",
       ""},
      {"--ramp-rate", "FIRST:LAST", "a rate that changes from FIRST to LAST over the requests", ""},
      {"--recorded", "SPEED", "send at the times in the trace, SPEED times as fast", ""},
      {"--ramp", "TIME", "spread the start of a closed loop's requests over this time", ""},
      {"--warm-up", "N", "requests before the measured ones", ""},
      {"--dataset", "NAME",
       "random (default), prefix-repetition, multi-turn, sharegpt, jsonl or trace",
       "random prefix-repetition multi-turn sharegpt jsonl trace"},
      {"--file", "PATH", "file of the dataset sharegpt, jsonl or trace", "folder"},
      {"--input", "N", "tokens per prompt; default 1024", ""},
      {"--output-tokens", "N", "tokens per reply; default 128, or as in the file", ""},
      {"--spread", "R", "vary these lengths by up to this share; default 0", ""},
      {"--prefix", "N", "tokens that all prompts share, in addition to --input", ""},
      {"--prefixes", "N", "for prefix-repetition: number of prefixes; default 10", ""},
      {"--turns", "N", "for multi-turn: requests per conversation; default 4", ""},
      {"--think", "TIME", "for multi-turn: time between a reply and the next turn; default 1s", ""},
      {"--seed", "N",
       "seed of prompts and arrivals; later points derive their own from it; default 0", ""},
      {"--ignore-eos", "", "generate the full requested length; default if lengths are set", ""},
      {"--no-ignore-eos", "", "let the model end its replies", ""},
      {"--no-stream", "", "replies in one piece", ""},
      {"--extra-body", "JSON", "members added to every request", ""},
      {"--header", "FIELD", "\"Name: value\" added to every request", "", true},
      {"--insecure", "", "do not check certificates", ""},
      {"--balance", "HOW", "least-connections (default), round-robin or random",
       "least-connections round-robin random"},
      {"--timeout", "TIME", "longest silence of a server; default 10min", ""},
      {"--goodput", "LIMITS", "most time a good reply may take, e.g. ttft:200ms,tpot:50ms", ""},
      {"--percentiles", "LIST", "default 50,90,95,99", ""},
  };
}

}  // namespace assay::cli
