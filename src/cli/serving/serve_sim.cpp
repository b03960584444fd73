// assay serve-sim: a simulated LLM server, or what its model predicts.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/serving/serve_sim_calibrate.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/units.h"
#include "serving/client/socket_limits.h"
#include "serving/simulator/prediction.h"
#include "serving/simulator/simulated_server.h"

namespace assay::cli::serve_sim_command {
namespace {

namespace sim = simulator;

/// Above 0 and at most `most`; `otherwise` if the option is not given.
Result<std::uint64_t> whole_option(const Arguments& arguments, std::string_view option,
                                   std::uint64_t otherwise, std::uint64_t most) {
  if (!arguments.has(option)) return otherwise;
  const auto value = parse_integer(arguments.get(option));
  if (!value.ok()) return about(option, value.error());
  if (*value >= 1 && *value <= most) return *value;
  return Error{ErrorKind::usage,
               fmt::format("{}: {} is not between 1 and {}", option, *value, most)};
}

Result<double> real_number(std::string_view option, std::string_view text, double most) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (read.ec == std::errc{} && read.ptr == end && value > 0 && value <= most) return value;
  return Error{ErrorKind::usage, fmt::format("{}: \"{}\" is not a number above 0 and at most {}",
                                             option, text, most)};
}

Result<double> real_option(const Arguments& arguments, std::string_view option, double otherwise,
                           double most) {
  if (!arguments.has(option)) return otherwise;
  return real_number(option, arguments.get(option), most);
}

Result<double> duration_option(const Arguments& arguments, std::string_view option,
                               double otherwise) {
  if (!arguments.has(option)) return otherwise;
  const auto seconds = parse_duration(arguments.get(option));
  return seconds.ok() ? seconds : about(option, seconds.error());
}

Result<double> bytes_option(const Arguments& arguments, std::string_view option) {
  const std::string text = arguments.get(option, "bf16");
  if (text == "bf16") return 2;
  if (text == "fp8") return 1;
  return Error{ErrorKind::usage,
               fmt::format("{}: \"{}\" is not allowed; allowed: bf16, fp8", option, text)};
}

bool is_fixed(const Arguments& arguments) {
  return arguments.has("--ttft") || arguments.has("--itl");
}

/// The number of servers, which --servers or --partitions names.
Result<int> servers_of(const Arguments& arguments) {
  const auto servers = TRY(whole_option(arguments, "--servers", 1, 256));
  const auto partitions = TRY(whole_option(arguments, "--partitions", 1, 256));
  if (partitions == 1 || !arguments.has("--servers") || partitions == servers) {
    return static_cast<int>(std::max(servers, partitions));
  }
  return Error{ErrorKind::usage, fmt::format("--servers {} and --partitions {} differ; give one of "
                                             "them, or the same number",
                                             servers, partitions)};
}

Result<sim::Deployment> read_deployment(const Arguments& arguments, int servers) {
  sim::Deployment deployment;
  deployment.model = TRY(sim::find_model(arguments.get("--model", "llama-3.1-8b")));
  deployment.gpu = TRY(sim::find_gpu(arguments.get("--gpu", "MI300X")));
  deployment.parts = arguments.has("--partitions") ? servers : 1;
  deployment.model.bytes_per_weight = TRY(bytes_option(arguments, "--weight-type"));
  deployment.model.bytes_per_kv_value = TRY(bytes_option(arguments, "--kv-cache"));
  deployment.utilization = TRY(real_option(arguments, "--gpu-memory-utilization", 0.9, 1));
  deployment.max_sequences = static_cast<std::uint32_t>(
      TRY(whole_option(arguments, "--max-num-seqs", deployment.max_sequences, 65536)));
  deployment.max_batched_tokens = TRY(
      whole_option(arguments, "--max-num-batched-tokens", deployment.max_batched_tokens, 1 << 20));
  deployment.max_length = TRY(whole_option(arguments, "--max-model-len", 0, 1 << 24));
  deployment.prefix_cache = !arguments.has("--no-prefix-cache");
  deployment.jitter = TRY(real_option(arguments, "--jitter", 0, 1));
  return deployment;
}

Result<std::uint64_t> read_seed(const Arguments& arguments) {
  const auto seed = parse_integer(arguments.get("--seed", "0"));
  return seed.ok() ? seed : about("--seed", seed.error());
}

Result<sim::ServerSettings> read_settings(const Arguments& arguments) {
  sim::ServerSettings settings;
  settings.servers = TRY(servers_of(arguments));
  settings.host = arguments.get("--host", settings.host);
  if (arguments.get("--port") == "0") {
    settings.port = 0;
  } else {
    settings.port = static_cast<std::uint16_t>(
        TRY(whole_option(arguments, "--port", settings.port, UINT16_MAX)));
  }
  settings.seed = TRY(read_seed(arguments));
  if (arguments.has("--fault")) {
    settings.faults = TRY(sim::FaultPlan::parse(arguments.get("--fault")));
  }
  if (is_fixed(arguments)) {
    for (const char* option :
         {"--gpu", "--model", "--weight-type", "--kv-cache", "--partitions", "--predict",
          "--jitter", "--gpu-memory-utilization", "--max-num-seqs", "--max-num-batched-tokens",
          "--no-prefix-cache", "--calibrate-from"}) {
      if (!arguments.has(option)) continue;
      return Error{
          ErrorKind::usage,
          fmt::format("{}: with --ttft or --itl the times are fixed and no GPU is modelled",
                      option)};
    }
    sim::FixedTiming timing;
    timing.ttft = TRY(duration_option(arguments, "--ttft", timing.ttft));
    timing.itl = TRY(duration_option(arguments, "--itl", timing.itl));
    timing.spread = TRY(sim::Spread::parse(arguments.get("--time-spread", "none")));
    settings.fixed = timing;
    settings.model.max_length =
        TRY(whole_option(arguments, "--max-model-len", settings.model.max_length, 1 << 24));
  } else if (arguments.has("--calibrate-from")) {
    settings.engine = TRY(calibrated_engine(arguments));
    settings.model.max_length = TRY(
        whole_option(arguments, "--max-model-len", settings.engine.scheduler.blocks * 16, 1 << 24));
  } else {
    if (arguments.has("--time-spread")) {
      return Error{ErrorKind::usage, "--time-spread: needs --ttft or --itl; see --jitter"};
    }
    const sim::Deployment deployment = TRY(read_deployment(arguments, settings.servers));
    const sim::DeployedEngine deployed = TRY(sim::deploy(deployment));
    settings.engine = deployed.engine;
    settings.model.max_length = deployed.max_length;
    settings.model.vocabulary = deployment.model.vocabulary;
    settings.model.name = deployment.model.name;
  }
  settings.model.name = arguments.get("--served-model-name", settings.model.name);
  return settings;
}

Result<std::vector<double>> read_rates(std::string_view text) {
  std::vector<double> rates;
  while (true) {
    const std::string_view word = text.substr(0, text.find(','));
    rates.push_back(TRY(real_number("--predict", word, 1e6)));
    if (rates.size() > 100) return Error{ErrorKind::usage, "--predict: at most 100 rates"};
    if (word.size() == text.size()) return rates;
    text.remove_prefix(word.size() + 1);
  }
}

std::string name_of(const sim::Deployment& deployment, int engines) {
  return engines == 1 ? "whole" : fmt::format("{} x 1/{}", engines, deployment.parts);
}

constexpr std::string_view disclaimer =
    "a batching model with assumed shares of peak rates, not a measurement";

std::string predictions_text(const sim::Deployment& deployment, const sim::PredictedLoad& load,
                             const std::vector<sim::Prediction>& predictions,
                             const Terminal& terminal) {
  using Align = Column::Align;
  Table table({{"req/s", Align::right},
               {"GPU"},
               {"done/s", Align::right},
               {"tokens/s", Align::right},
               {"TTFT p50", Align::right},
               {"TTFT p99", Align::right},
               {"TPOT p50", Align::right},
               {"E2EL p99", Align::right},
               {"preempted", Align::right, 1}});
  for (const sim::Prediction& one : predictions) {
    table.add({fmt::format("{}", one.rate), name_of(deployment, one.engines),
               format_significant(one.requests_per_second),
               format_significant(one.output_tokens_per_second), format_seconds(one.ttft_p50),
               format_seconds(one.ttft_p99), format_seconds(one.tpot_p50),
               format_seconds(one.e2e_p99), fmt::format("{}", one.preemptions)});
  }
  return fmt::format("predicted for {} on {}, {} requests of {} + {} tokens: {}\n",
                     deployment.model.name, deployment.gpu.name, load.requests, load.prompt_tokens,
                     load.output_tokens, disclaimer) +
         table.render(static_cast<std::size_t>(terminal.width()), terminal.out_style());
}

Json predictions_json(const sim::Deployment& deployment, const sim::PredictedLoad& load,
                      const std::vector<sim::Prediction>& predictions) {
  Json json = {{"kind", "model"},
               {"note", disclaimer},
               {"model", deployment.model.name},
               {"gpu", deployment.gpu.name},
               {"requests", load.requests},
               {"input_len", load.prompt_tokens},
               {"output_len", load.output_tokens},
               {"predictions", Json::array()}};
  for (const sim::Prediction& one : predictions) {
    json["predictions"].push_back({{"rate", one.rate},
                                   {"engines", one.engines},
                                   {"request_throughput", one.requests_per_second},
                                   {"output_throughput", one.output_tokens_per_second},
                                   {"p50_ttft_s", one.ttft_p50},
                                   {"p99_ttft_s", one.ttft_p99},
                                   {"p50_tpot_s", one.tpot_p50},
                                   {"p50_e2el_s", one.e2e_p50},
                                   {"p99_e2el_s", one.e2e_p99},
                                   {"preemptions", one.preemptions}});
  }
  return json;
}

Status predict(const Arguments& arguments, Terminal& terminal) {
  const int servers = TRY(servers_of(arguments));
  sim::Deployment deployment = TRY(read_deployment(arguments, servers));
  deployment.parts = servers;
  sim::PredictedLoad load;
  load.requests = TRY(whole_option(arguments, "--requests", load.requests, 100000));
  load.prompt_tokens = TRY(whole_option(arguments, "--input", load.prompt_tokens, 1 << 20));
  load.output_tokens = TRY(whole_option(arguments, "--output-tokens", load.output_tokens, 1 << 20));
  load.seed = TRY(read_seed(arguments));
  const std::vector<double> rates = TRY(read_rates(arguments.get("--predict")));
  const auto predictions = TRY(sim::predict(deployment, load, rates));
  terminal.print(arguments.has("--json")
                     ? json_line(predictions_json(deployment, load, predictions)) + "\n"
                     : predictions_text(deployment, load, predictions, terminal));
  return {};
}

Status serve(const Arguments& arguments, Terminal& terminal) {
  const sim::ServerSettings settings = TRY(read_settings(arguments));
  raise_socket_limits();  // each connection needs a file
  const auto server = TRY(sim::Server::open(settings));
  catch_interrupts();
  terminal.note(server::reach_note(settings.host));
  const std::vector<std::string> urls = server->urls();
  if (arguments.has("--json")) {
    terminal.print(json_line(Json({{"urls", urls}})) + "\n");
  } else {
    for (const std::string& url : urls) terminal.print("listening on " + url + "\n");
  }
  terminal.flush();
  server->run(&interrupt_requested);
  return {};
}

int run(const Arguments& arguments, Terminal& terminal) {
  const bool predicts = arguments.has("--predict") && !is_fixed(arguments);
  const Status status = arguments.has("--against") ? predict_measured_loads(arguments, terminal)
                        : predicts                 ? predict(arguments, terminal)
                                                   : serve(arguments, terminal);
  return status.ok() ? exit_ok : report(terminal, status.error());
}

const Command command = {
    .name = "serve-sim",
    .summary = "Simulate an LLM server: OpenAI's interface, modelled or fixed timing, faults",
    .group = CommandGroup::serve,
    .positionals = "",
    .details =
        R"(Serves the HTTP APIs of vLLM, llama.cpp and TGI with meaningless text. With --ttft or --itl
every request has exactly these times, for calibrating clients; otherwise a GPU is modelled:
continuous batching, chunked prefill, a paged KV cache with prefix sharing, preemption.
--predict runs that model in virtual time and compares --servers N partitions with the whole
GPU: a prediction, never a measurement. Ends on SIGINT or SIGTERM. Details: docs/serve-sim.md.

  assay serve-sim --ttft 50ms --itl 20ms
  assay serve-sim --gpu MI300X --partitions 8
  assay serve-sim --gpu MI300X --servers 8 --predict 2,4,8,16,32
  assay serve-sim --calibrate-from results --against results
  assay serve-sim --itl 10ms --fault reset=0.01,http429=0.02

)",
    .options =
        {
            {"--port", "N", "first port; 0: any free port; default 8000", ""},
            {"--host", "ADDRESS", "numeric address to listen on; default 127.0.0.1", ""},
            {"--servers", "N", "number of servers, on consecutive ports; default 1", ""},
            {"--partitions", "[N]",
             "N servers, each of which gets 1/N of one GPU instead of a whole GPU; default: those "
             "of --servers",
             ""},
            {"--ttft", "TIME", "fixed time to the first token; default 50ms", ""},
            {"--itl", "TIME", "fixed time between tokens; default 20ms", ""},
            {"--time-spread", "KIND:WIDTH", "spread of fixed times: uniform:W or lognormal:SIGMA",
             "", false, "--spread"},
            {"--gpu", "NAME", "GPU to model; default MI300X",
             "MI300X MI350X MI355X H100 H200 A100-80"},
            {"--model", "NAME", "model to model; default llama-3.1-8b",
             "llama-3.1-8b llama-3.3-70b qwen3-8b llama-2-7b"},
            {"--weight-type", "TYPE", "type of the weights: bf16 or fp8; default bf16", "bf16 fp8",
             false, "--weights"},
            {"--kv-cache", "TYPE", "type of the KV cache: bf16 or fp8; default bf16", "bf16 fp8"},
            {"--gpu-memory-utilization", "SHARE", "share of the memory to use; default 0.9", ""},
            {"--max-num-seqs", "N",
             "most requests in a batch; default 256, with --calibrate-from as of `assay serve`",
             ""},
            {"--max-num-batched-tokens", "N",
             "most tokens in a step; default 8192, with --calibrate-from as of `assay serve`", ""},
            {"--max-model-len", "N", "most tokens of prompt and reply together; default: what fits",
             ""},
            {"--no-prefix-cache", "", "do not share the cache of common prefixes", ""},
            {"--jitter", "SIGMA", "lognormal variation of each step's time", ""},
            {"--fault", "NAME[=SHARE],...", "inject these faults into a share of the requests",
             "reset http500 http429 hang utf8 merged split nodone nousage long empty short "
             "slowclose"},
            {"--served-model-name", "NAME", "model name that the server reports", ""},
            {"--seed", "N", "seed of jitter, spread and faults; default 0", ""},
            {"--predict", "RATE,...",
             "start no server: predict the results at these requests per second", ""},
            {"--calibrate-from", "STORE",
             "steps take the times of this store's results of prefill and decode for --model",
             "folder"},
            {"--against", "STORE",
             "with --calibrate-from: predict this store's results of assay load, and print how far "
             "off that is",
             "folder"},
            {"--num-gpu-blocks-override", "N",
             "with --calibrate-from: blocks of the cache; default 65536", ""},
            {"--requests", "N", "with --predict: number of requests; default 500", ""},
            {"--input", "N", "with --predict: tokens per prompt; default 1024", "", false,
             "--input-len"},
            {"--output-tokens", "N", "with --predict: tokens per reply; default 128", "", false,
             "--output-len"},
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::serve_sim_command
