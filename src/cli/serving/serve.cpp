// assay serve: an LLM server on this machine's device.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/serving/serve_partitions.h"
#include "cli/serving/serve_ranks.h"
#include "compute/device/backend.h"
#include "compute/device/helpers.h"
#include "compute/device/matrix_unit_types.h"
#include "core/json.h"
#include "core/units.h"
#include "judge/report/number_text.h"
#include "model/transformer/decoder_config.h"
#include "model/transformer/named_shapes.h"
#include "serving/client/socket_limits.h"
#include "serving/engine/cache_plan.h"
#include "serving/engine/engine_server.h"

namespace assay::cli::serve_command {
namespace {

constexpr int most_partitions = 256, most_ranks = 256;

Result<std::optional<std::int64_t>> count_option(const Arguments& arguments,
                                                 std::string_view option, std::int64_t most) {
  if (!arguments.has(option)) return std::optional<std::int64_t>();
  const auto value = parse_integer(arguments.get(option));
  if (!value.ok()) return about(option, value.error());
  const auto count = static_cast<std::int64_t>(*value);
  if (count >= 1 && count <= most) return std::optional(count);
  return Error{ErrorKind::usage,
               fmt::format("{}: {} is not between 1 and {}", option, *value, most)};
}

Result<std::optional<double>> share_option(const Arguments& arguments, std::string_view option) {
  if (!arguments.has(option)) return std::optional<double>();
  const std::string text = arguments.get(option);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (read.ec == std::errc{} && read.ptr == end && value > 0 && value <= 1) {
    return std::optional(value);
  }
  return Error{ErrorKind::usage,
               fmt::format("{}: \"{}\" is not a number above 0 and at most 1", option, text)};
}

Result<std::uint16_t> port_option(const Arguments& arguments, std::uint16_t otherwise) {
  if (!arguments.has("--port")) return otherwise;
  const auto value = parse_integer(arguments.get("--port"));
  if (!value.ok()) return about("--port", value.error());
  if (*value <= UINT16_MAX) return static_cast<std::uint16_t>(*value);
  return Error{ErrorKind::usage, fmt::format("--port: {} is not between 0 and 65535", *value)};
}

Result<DataType> precision_option(const Arguments& arguments, bool large) {
  const std::string text = arguments.get("--precision", large ? "bf16" : "f32");
  if (text == "bf16") return DataType::bf16;
  if (text == "f32") return DataType::f32;
  return Error{ErrorKind::usage,
               fmt::format("--precision: \"{}\" is not allowed; allowed: f32, bf16", text)};
}

Result<Quantization> quantization_option(const Arguments& arguments, const DeviceFacts& facts) {
  const std::string text = arguments.get("--quantization", "none");
  const std::vector<std::string> names = quantization_names();
  if (std::ranges::find(names, text) != names.end()) return quantization_named(text, facts);
  return Error{ErrorKind::usage, fmt::format("--quantization: \"{}\" is not allowed; allowed: {}",
                                             text, fmt::join(names, ", "))};
}

Result<std::optional<DataType>> cache_option(const Arguments& arguments, const DeviceFacts& facts) {
  const std::string text = arguments.get("--kv-cache-dtype", "auto");
  const std::vector<std::string> names = cache_type_names();
  if (std::ranges::find(names, text) != names.end()) return cache_codes_named(text, facts);
  return Error{ErrorKind::usage, fmt::format("--kv-cache-dtype: \"{}\" is not allowed; allowed: {}",
                                             text, fmt::join(names, ", "))};
}

Result<PromptWay> attention_option(const Arguments& arguments) {
  const std::string text = arguments.get("--attention", "auto");
  if (text == "library" && arguments.has("--deterministic")) {
    return Error{ErrorKind::usage,
                 "--attention library is not allowed with --deterministic, which computes prompts "
                 "as all other tokens; leave one of them out"};
  }
  if (text == "auto") return PromptWay::best;
  if (text == "library") return PromptWay::library;
  if (text == "own") return PromptWay::own;
  return Error{ErrorKind::usage, fmt::format("--attention: \"{}\" is not allowed; allowed: auto, "
                                             "library, own",
                                             text)};
}

/// The tokenizer of --tokenizer, else the one beside the weights, else one token per byte; and the
/// chat template beside it, if it is one that is known.
Result<engine::TokenizerText> read_tokenizer(const Arguments& arguments) {
  std::error_code ignored;
  std::filesystem::path path = arguments.get("--tokenizer");
  if (path.empty() && arguments.has("--weights")) {
    path = std::filesystem::path(arguments.get("--weights")) / "tokenizer.json";
    if (!std::filesystem::exists(path, ignored)) path.clear();
  }
  if (path.empty()) return engine::TokenizerText(Tokenizer::bytes());
  Tokenizer tokenizer = TRY(Tokenizer::load(path));
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const auto known = ChatTemplate::of_model(is_folder ? path : path.parent_path());
  std::optional<ChatTemplate> chat_template;
  if (known.ok() && known->check(tokenizer).ok()) chat_template = *known;
  return engine::TokenizerText(std::move(tokenizer), std::move(chat_template));
}

/// The model's shape and weights, and the name that it is served under. Error: usage.
Result<std::string> read_model(const Arguments& arguments, const Device& device,
                               engine::ExecutorSettings& executor) {
  const bool large = suits_large_work(device.facts());
  executor.precision = TRY(precision_option(arguments, large));
  executor.quantization = TRY(quantization_option(arguments, device.facts()));
  executor.cache_codes = TRY(cache_option(arguments, device.facts()));
  std::string name = arguments.get("--model", large ? "llama3-8b" : "2L4H2K64D192C512F4096V");
  if (arguments.has("--weights")) {
    if (arguments.has("--model")) {
      return Error{ErrorKind::usage, "--weights has its own shape; give it without --model"};
    }
    executor.folder = arguments.get("--weights");
    executor.adapter = arguments.get("--adapter");
    executor.shape = TRY(read_decoder_config(executor.folder));
    name = std::filesystem::weakly_canonical(executor.folder).filename().string();
  } else if (arguments.has("--adapter")) {
    return Error{ErrorKind::usage, "--adapter belongs to a model's weights; give --weights, too"};
  } else {
    executor.shape = TRY(parse_decoder_shape(name));
  }
  if (executor.quantization.codes) TRY(validate_quantized(executor.shape));
  return arguments.get("--served-model-name", name);
}

Result<engine::EngineServerSettings> read_settings(const Arguments& arguments, Device& device,
                                                   ModelRanks ranks) {
  engine::EngineServerSettings settings;
  settings.host = arguments.get("--host", settings.host);
  settings.port = TRY(port_option(arguments, settings.port));
  const auto seed = parse_integer(arguments.get("--seed", "1"));
  if (!seed.ok()) return about("--seed", seed.error());
  settings.seed = *seed;
  engine::EngineSettings& made = settings.engine;
  made.prefix_cache = !arguments.has("--no-prefix-cache");
  engine::ExecutorSettings& executor = made.executor;
  const std::string name = TRY(read_model(arguments, device, executor));
  const auto text = std::make_shared<engine::TokenizerText>(TRY(read_tokenizer(arguments)));
  TRY(text->check(executor.shape.vocabulary));
  made.end_tokens = text->end_tokens();
  settings.text = text;
  executor.seed = *seed;
  executor.deterministic = arguments.has("--deterministic");
  executor.attention = TRY(attention_option(arguments));
  if (ranks.team != nullptr) {
    executor.part = {ranks.team->rank(), ranks.team->size()};
    executor.ranks = ranks;
  }
  TRY(validate(executor.shape, executor.part, executor.quantization.codes.has_value()));
  engine::AskedLimits asked;
  asked.max_sequences = TRY(count_option(arguments, "--max-num-seqs", 65536));
  asked.max_batched_tokens = TRY(count_option(arguments, "--max-num-batched-tokens", 1 << 20));
  asked.max_length = TRY(count_option(arguments, "--max-model-len", 1 << 24));
  asked.blocks = TRY(count_option(arguments, "--num-gpu-blocks-override", 1 << 24));
  asked.utilization = TRY(share_option(arguments, "--gpu-memory-utilization"));
  if (!asked.utilization && device.facts().runs_on_host) {
    // All ranks share one memory.
    asked.utilization = engine::utilization_of_cpus / executor.part.ranks;
  }
  TRY(engine::plan_cache(device, asked, executor));
  settings.model = {.name = name,
                    .owner = "assay",
                    .max_length = static_cast<std::uint64_t>(executor.max_length),
                    .vocabulary = static_cast<std::uint32_t>(executor.shape.vocabulary)};
  return settings;
}

std::string begin_note(const engine::EngineServer& server,
                       const engine::EngineServerSettings& settings, const Device& device) {
  const engine::ExecutorSettings& executor = settings.engine.executor;
  return fmt::format(
      "{} in {}{} on {}; cache of {} blocks of 16 tokens in {}; {} sequences, {} tokens of a pass, "
      "{} tokens of a request at most{}; attention of prompts: {}; logits of a small version are "
      "{:.1e} from the reference\n",
      settings.model.name, name_of(executor.precision),
      executor.quantization.codes
          ? fmt::format(", matrices of {}, whose products read {},",
                        name_of(*executor.quantization.codes), server.inputs_of_products())
          : "",
      device.facts().name, executor.blocks, server.cache_type(), executor.max_sequences,
      executor.max_batched_tokens, executor.max_length,
      executor.part.is_whole() ? ""
                               : fmt::format("; shared by {} ranks over {}", executor.part.ranks,
                                             executor.ranks.communicator->library()),
      server.prompt_attention(), server.gate_error());
}

/// Empty: the model has all tokens that texts can come to.
std::string tokenizer_note(const engine::EngineServerSettings& settings) {
  const std::int64_t known = settings.text->vocabulary(),
                     vocabulary = settings.engine.executor.shape.vocabulary;
  if (known <= vocabulary) return {};
  return fmt::format(
      "the tokenizer knows tokens up to {}, and the model has the tokens 0 to {} only: a text with "
      "one beyond them gets status 400\n",
      known - 1, vocabulary - 1);
}

std::string end_note(const engine::EngineServer& server) {
  const engine::EngineState state = server.state();
  return fmt::format("served {} and {}; {} of {} blocks of the cache are free\n",
                     report::counted(server.requests(), "request"),
                     report::counted(state.counters.generation_tokens, "token"), state.free_blocks,
                     state.blocks);
}

/// `ranks`: with tensor parallelism, the ranks that share the model; this process is one of them.
Status serve_on(Device& device, ModelRanks ranks, const Arguments& arguments, Terminal& terminal) {
  const auto settings = TRY(read_settings(arguments, device, ranks));
  if (settings.engine.executor.part.rank > 0) {
    return engine::follow_server(device, settings.engine.executor, &interrupt_requested);
  }
  raise_socket_limits();  // each connection needs a file
  const auto server = TRY(engine::EngineServer::open(device, settings));
  terminal.note(begin_note(*server, settings, device) + tokenizer_note(settings) +
                server::reach_note(settings.host));
  if (arguments.has("--json")) {
    terminal.print(json_line(Json({{"urls", {server->url()}}})) + "\n");
  } else {
    terminal.print("listening on " + server->url() + "\n");
  }
  terminal.flush();
  TRY(server->run(&interrupt_requested));
  terminal.note(end_note(*server));
  return {};
}

Status serve(const Arguments& arguments, Terminal& terminal) {
  const auto partitions = TRY(count_option(arguments, "--partitions", most_partitions));
  const auto ranks = TRY(count_option(arguments, "--tensor-parallel", most_ranks));
  if (partitions && ranks) {
    return Error{ErrorKind::usage,
                 "--partitions are servers of their own, and --tensor-parallel is one server: give "
                 "one of them"};
  }
  if (partitions) return serve_partitions(arguments, static_cast<int>(*partitions), terminal);
  if (ranks && *ranks > 1) {
    return serve_on_ranks(arguments, static_cast<int>(*ranks), terminal,
                          [&](Device& device, ModelRanks others) {
                            return serve_on(device, others, arguments, terminal);
                          });
  }
  auto backends = make_backends();
  const auto device = TRY(open_device(backends, arguments.get("--device")));
  return serve_on(*device, {}, arguments, terminal);
}

int run(const Arguments& arguments, Terminal& terminal) {
  catch_interrupts();
  const Status status = serve(arguments, terminal);
  if (status.ok()) return exit_ok;
  return status.error().message.empty() ? exit_nothing_ran : report(terminal, status.error());
}

std::string models() {
  return fmt::format("{}", fmt::join(decoder_names(), " "));
}

const Command command = {
    .name = "serve",
    .summary = "Serve an LLM on this machine's device: OpenAI's interface, continuous batching",
    .group = CommandGroup::serve,
    .positionals = "",
    .details =
        R"(Computes a decoder-only model in this process, without Python: a paged cache with prefix
sharing, continuous batching with chunked prefill, one captured graph per size of batch. It
answers as vLLM does, so that `assay load` and other clients measure the device and not a
simulation; it is made to measure machines, not to serve customers. Weights are random unless
--weights names some. Tokens are the most likely ones unless a request has a temperature; it may
ask for log probabilities. Ends on SIGINT or SIGTERM. Details: docs/serve.md.

  assay serve --model llama3-8b
  assay serve --model qwen3-0.6b --max-num-seqs 64 --max-model-len 4096
  assay serve --partitions 8
  assay serve --model llama3-70b --tensor-parallel 8
  assay load --spawn "assay serve --port {port}" --max-concurrency 4,16,64 --requests 10x

)",
    .options =
        {
            {"--model", "NAME",
             "name or numbers as in assay run decode; default llama3-8b on a GPU, a million "
             "parameters on a CPU",
             &models},
            {"--weights", "FOLDER",
             "weights of a model in Hugging Face's format, config.json and safetensors; default: "
             "random ones",
             "folder"},
            {"--adapter", "FOLDER",
             "a LoRA adapter in PEFT's format, which is added to the weights as they are read",
             "folder"},
            {"--tokenizer", "FILE",
             "tokenizer.json; default: that of --weights, or a token for each byte", "file"},
            {"--quantization", "TYPE",
             "matrices as fp8 or int8 with a factor per row; fp8 quantizes what products read, "
             "too, where that is faster, fp8-weights never; default none",
             "none fp8 fp8-weights int8"},
            {"--kv-cache-dtype", "TYPE",
             "cache of keys and values: fp8, with a factor per token and head, holds almost twice "
             "as many tokens; default auto: as --precision",
             "auto fp8"},
            {"--precision", "TYPE",
             "of weights, cache and products: bf16 or f32; default bf16 on a GPU, f32 on a CPU",
             "bf16 f32"},
            {"--device", "NAME", "device, e.g. cpu, cuda, hip:1; default: the best one",
             "cpu cuda hip"},
            {"--port", "N", "port; 0: any free port; default 8000", ""},
            {"--host", "ADDRESS", "numeric address to listen on; default 127.0.0.1", ""},
            {"--partitions", "N",
             "a server on each of N GPUs or partitions, or on an Nth of the CPUs, on ports next to "
             "each other",
             ""},
            {"--tensor-parallel", "N",
             "one server whose every layer N ranks compute together, one on each GPU or partition, "
             "or on an Nth of the CPUs; under mpirun, srun and others these are the ranks",
             ""},
            {"--library", "NAME",
             "what the ranks of --tensor-parallel talk through; default: that made for the device",
             "auto nccl rccl mpi peer tcp"},
            {"--patience", "TIME",
             "how long one of these ranks may keep the others waiting before the server ends; "
             "default "
             "2min",
             ""},
            {"--without-secret", "",
             "under a launcher: start without a token although other users of this machine could "
             "take "
             "a rank's place",
             ""},
            {"--max-num-seqs", "N", "most requests in a batch; default 256, on a CPU 64", ""},
            {"--max-num-batched-tokens", "N",
             "most tokens in a pass; default 2048, on a CPU or with --deterministic 256", ""},
            {"--max-model-len", "N",
             "most tokens of prompt and reply together; default 8192, on a CPU 2048, or what fits; "
             "never more than the model's max_position_embeddings",
             ""},
            {"--gpu-memory-utilization", "SHARE",
             "share of the device's memory to use; default 0.9, on a CPU 0.5", ""},
            {"--num-gpu-blocks-override", "N",
             "blocks of the cache, 16 tokens each, instead of what the memory has room for", ""},
            {"--deterministic", "",
             "all passes have one size, so that no token depends on what is computed beside it",
             ""},
            {"--attention", "WAY",
             "attention of whole prompts: library, the vendor's (cuDNN); own, assay's kernels; "
             "default auto: library, where it can; --deterministic computes prompts like all other "
             "tokens and rejects library",
             "auto library own"},
            {"--no-prefix-cache", "", "do not share the cache of common prefixes", ""},
            {"--served-model-name", "NAME", "model name that the server reports", ""},
            {"--seed", "N", "seed of the weights, and of sampling without a seed; default 1", ""},
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::serve_command
