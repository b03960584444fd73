#include "cli/load_request.h"

namespace assay::cli {

std::vector<Option> load_options() {
  return {
      {"--url", "URL", "a server, e.g. http://127.0.0.1:8000; several for several servers", "",
       true},
      {"--spawn", "COMMAND",
       "instead of --url: start this server, e.g. \"vllm serve MODEL --port {port}\", and end it "
       "afterwards; {port} and {index} are replaced",
       ""},
      {"--servers", "N", "with --spawn: as many of them, on a GPU each; default 1", ""},
      {"--spawn-env", "NAME=VALUE",
       "with --spawn: a variable of theirs, e.g. HIP_VISIBLE_DEVICES={index}", "", true},
      {"--spawn-timeout", "TIME", "with --spawn: they must answer within that; default 10min", ""},
      {"--api", "NAME", "completions (default), chat, llamacpp or tgi",
       "completions chat llamacpp tgi"},
      {"--model", "NAME", "default: the first that the server names", ""},
      {"--request-rate", "LIST",
       "requests a second, whatever the server does; several make a sweep, inf sends all at once",
       ""},
      {"--max-concurrency", "LIST",
       "requests in flight: alone a closed loop, with a rate a cap; several make a sweep", ""},
      {"--requests", "N",
       "requests of a point: a number, 10x the concurrency, or 60s at the rate; with --find-rate "
       "by default 30s, at least 100",
       ""},
      {"--duration", "TIME", "send nothing after that", ""},
      {"--find-rate", "TARGETS",
       "search the highest rate that keeps them, e.g. p99_ttft:200ms,mean_tpot:50ms: mean, median "
       "or a percentile of ttft, tpot, itl or e2el; or attainment:95% of --goodput",
       ""},
      {"--precision", "SHARE", "of that rate; default 5%", ""},
      {"--most-rate", "R", "the search goes no higher", ""},
      {"--burstiness", "B",
       "gaps between arrivals are gamma distributed with this shape: 1 (default) is Poisson, less "
       "has bursts, inf none",
       ""},
      {"--ramp-rate", "FIRST:LAST", "a rate that rises from the first request to the last", ""},
      {"--recorded", "SPEED", "send when the trace says, SPEED times as fast", ""},
      {"--ramp", "TIME", "begin a closed loop's requests spread over that time", ""},
      {"--warm-up", "N", "requests before those that count", ""},
      {"--dataset", "NAME",
       "random (default), prefix-repetition, multi-turn, sharegpt, jsonl or trace",
       "random prefix-repetition multi-turn sharegpt jsonl trace"},
      {"--file", "PATH", "of sharegpt, jsonl or trace", "folder"},
      {"--input", "N", "tokens of a prompt; default 1024", ""},
      {"--output-tokens", "N", "tokens of a reply; default 128, or what the file says", ""},
      {"--spread", "R", "lengths vary by that share around them; default 0", ""},
      {"--prefix", "N", "tokens that prompts have in common, besides --input", ""},
      {"--prefixes", "N", "of prefix-repetition: how many prefixes; default 10", ""},
      {"--turns", "N", "of multi-turn: requests of a conversation; default 4", ""},
      {"--think", "TIME", "of multi-turn: between a reply and the next turn; default 1s", ""},
      {"--seed", "N",
       "of prompts and arrivals; each further point has one of its own, made from it; default 0",
       ""},
      {"--ignore-eos", "", "replies go on to the length asked for; default where lengths are set",
       ""},
      {"--no-ignore-eos", "", "replies end where the model ends them", ""},
      {"--no-stream", "", "replies in one piece", ""},
      {"--extra-body", "JSON", "members put into every request", ""},
      {"--header", "FIELD", "\"Name: value\" put into every request", "", true},
      {"--insecure", "", "do not check certificates", ""},
      {"--balance", "HOW", "least-connections (default), round-robin or random",
       "least-connections round-robin random"},
      {"--timeout", "TIME", "a server may be silent for so long; default 10min", ""},
      {"--goodput", "LIMITS", "what a good reply may take, e.g. ttft:200ms,tpot:50ms", ""},
      {"--percentiles", "LIST", "default 50,90,95,99", ""},
  };
}

}  // namespace assay::cli
