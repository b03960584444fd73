// assay tune gemm: finds the fastest solutions of matrix products.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "advise/tune/gemm/gemm_files.h"
#include "advise/tune/gemm/gemm_journal.h"
#include "advise/tune/gemm/product_record.h"
#include "advise/tune/gemm/pytorch.h"
#include "advise/tune/gemm/tuning_file_facts.h"
#include "cli/advise/tune_benchmark.h"
#include "cli/advise/tune_gemm_read.h"
#include "cli/advise/tune_gemm_view.h"
#include "cli/advise/tune_progress.h"
#include "cli/advise/tuning_device.h"
#include "cli/cli.h"
#include "cli/completion_words.h"
#include "cli/interrupt.h"
#include "compute/vendor/blas/gemm_choice.h"
#include "core/json.h"
#include "core/units.h"
#include "core/write_file.h"
#include "machine/system/fingerprint.h"
#include "measure/sampling/runner.h"
#include "model/transformer/named_shapes.h"
#include "results/store/store.h"

namespace assay::cli::tune_gemm_command {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_checked = 8;  // rows that --check-pytorch lets PyTorch compute

int fail_io(Terminal& terminal, const std::string& message) {
  terminal.complain(message);
  return exit_io;
}

/// Everything on which an outcome depends, so that a journal of another tuning is not continued.
Json identity_of(const TuneGemmRequest& request, TuningDevice& seat) {
  const DeviceFacts& facts = seat.device->facts();
  const TuneGemmSettings& settings = request.settings;
  Json libraries = Json::object();
  for (const BlasProvider& provider : blas_providers(facts.backend)) {
    if (!provider.allowed_by(settings.library)) continue;
    const auto opened = seat.tuner->library(provider);
    if (!opened.ok()) continue;
    const BlasFacts& library = (*opened)->facts();
    libraries[library.name] = library.revision.empty()
                                  ? library.version
                                  : fmt::format("{} {}", library.version, library.revision);
  }
  Json chosen = {{"workspace", settings.workspace_bytes},
                 {"rotate", settings.rotate_bytes},
                 {"inputs", static_cast<int>(settings.inputs)},
                 {"solutions", settings.most_solutions},
                 {"budget", settings.screening_box_seconds},
                 {"pairs", settings.pairs},
                 {"seed", settings.seed}};
  // Present only if set, so that journals from before this option can be continued.
  if (settings.brute_force) chosen["brute_force"] = true;
  return {{"what", GemmJournal::what},
          {"format", 1},
          {"device", identity_of_device(facts)},
          {"runtime", seat.runtime()},
          {"libraries", libraries},
          {"settings", chosen}};
}

/// Stores the winner in the cache from which assay's models read it.
void keep_choice(TuningDevice& seat, const TuneGemmRequest& request, const GemmProblem& problem,
                 const ProductOutcome& outcome) {
  if (!outcome.reason.empty() || outcome.best.library != outcome.usual.library) return;
  const DeviceFacts& facts = seat.device->facts();
  for (const BlasProvider& provider : blas_providers(facts.backend)) {
    if (provider.name != outcome.best.library) continue;
    const auto library = seat.tuner->library(provider);
    if (!library.ok()) return;
    ChoiceCache::of_user(facts).keep(
        facts,
        gemm_choice_key(facts, (*library)->facts(), problem, request.settings.workspace_bytes),
        outcome.best.algorithm);
  }
}

/// Tunes this process's part. Error: as from the journal and the tuner.
Result<std::vector<TunedProduct>> tune_here(const TuneGemmRequest& request, TuningDevice& seat,
                                            const std::vector<CountedProblem>& products,
                                            Terminal& terminal) {
  GemmJournal journal = TRY(GemmJournal::open(request.place.folder, identity_of(request, seat)));
  if (!journal.done().empty()) {
    terminal.note(fmt::format("continuing after {} products\n", journal.done().size()));
  }
  std::vector<TunedProduct> tuned;
  TuneProgress progress(terminal, products.size());
  for (const CountedProblem& product : products) {
    const auto known = journal.done().find(problem_text(product.problem));
    if (known != journal.done().end()) {
      tuned.push_back({product, known->second});
      progress.known();
      continue;
    }
    auto outcome = seat.tuner->tune(product.problem, [&](std::string_view what) {
      progress.doing(describe(product.problem), what);
      return interrupt_requested();
    });
    if (!outcome.ok() && outcome.error().kind != ErrorKind::interrupted) {
      // This process cannot use the device any more; the next process skips the product that broke
      // it.
      ProductOutcome broken;
      broken.problem = problem_text(product.problem);
      broken.reason = "the device failed: " + outcome.error().message;
      TRY(journal.append(broken));
      return Error{
          ErrorKind::failed,
          fmt::format("{}: {}; run the same command again to continue with the next product",
                      describe(product.problem), outcome.error().message)};
    }
    const ProductOutcome found = TRY(std::move(outcome));
    TRY(journal.append(found));
    keep_choice(seat, request, product.problem, found);
    progress.done(describe(product.problem), found.spent_seconds,
                  !found.reason.empty() ? "not measured"
                  : found.proven        ? fmt::format("{:+.1f}%", (found.gain - 1) * 100)
                                        : "nothing better");
    tuned.push_back({product, found});
  }
  return tuned;
}

/// The device that measured each product; the key is its problem_text().
using MeasuringDevices = std::map<std::string, DeviceFacts>;

/// The device that `name` means, as open_device() takes it. Error: usage, if there is none.
Result<DeviceFacts> facts_of_device(const std::vector<std::unique_ptr<Backend>>& backends,
                                    const std::string& name) {
  for (const auto& backend : backends) {
    for (const DeviceFacts& facts : backend->devices()) {
      const std::string full = fmt::format("{}:{}", facts.backend, facts.ordinal);
      if (name == full || (facts.ordinal == 0 && name == facts.backend)) return facts;
    }
  }
  return Error{
      ErrorKind::usage,
      fmt::format("device \"{}\" is not on this machine; `assay devices` lists them", name)};
}

/// One process for each device, each with its part; their journals are the result.
Result<std::vector<TunedProduct>> tune_on_all(const Arguments& arguments,
                                              const TuneGemmRequest& request,
                                              const TuningDevice& seat,
                                              const std::vector<std::string>& devices,
                                              const std::vector<CountedProblem>& products,
                                              Terminal& terminal, MeasuringDevices& measured_on) {
  std::map<std::string, ProductOutcome> all;
  const auto folders = TRY(tune_on_each(arguments, request.place, devices, {}, terminal));
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const DeviceFacts facts = TRY(facts_of_device(seat.backends, devices[i]));
    for (auto& [problem, outcome] : TRY(GemmJournal::read(folders[i]))) {
      all[problem] = outcome;
      measured_on[problem] = facts;
    }
  }
  std::vector<TunedProduct> tuned;
  for (const CountedProblem& product : products) {
    const auto found = all.find(problem_text(product.problem));
    if (found != all.end()) tuned.push_back({product, found->second});
  }
  return tuned;
}

/// The files that were written and what there is to say of them, as text and as JSON.
struct Written {
  std::string text;
  Json json = Json::object();
  std::vector<TunableRow> rows;  ///< rows of the TunableOp results file
  std::string results_file;
};

void add_left_out(Written& written, const std::vector<std::string>& left_out) {
  for (const std::string& one : left_out) written.text += fmt::format("  without {}\n", one);
}

Status write_results(const TuneGemmRequest& request, TuningDevice& seat,
                     const std::vector<TunedProduct>& tuned, const std::vector<int>& ordinals,
                     Written& written) {
  const DeviceFacts& facts = seat.device->facts();
  if (facts.is_host_cpu()) return {};
  const auto validators = find_validators(request, seat);
  if (!validators.ok()) {
    written.text += fmt::format(
        "no results file for PyTorch: {} (--validators, --pytorch and "
        "--python say more)\n",
        validators.error().message);
    return {};
  }
  const auto made = TRY(tunable_results(tuned, *validators));
  written.json["tunableop"] = Json::array();
  for (const int ordinal : ordinals) {
    const fs::path path =
        fs::path(request.place.folder) / name_for_ordinal("tunableop_results.csv", ordinal);
    TRY(write_file(path, text_of(made.file)));
    written.json["tunableop"].push_back(path.string());
    written.text +=
        fmt::format("{} rows for PyTorch in {}\n", made.file.rows.size(), path.string());
    if (written.results_file.empty()) written.results_file = path.string();
  }
  written.rows = made.file.rows;
  add_left_out(written, made.left_out);
  return {};
}

Status write_override(const TuneGemmRequest& request, TuningDevice& seat,
                      const std::vector<TunedProduct>& tuned, Written& written) {
  if (!seat.device->facts().is_amd()) return {};
  const OverrideFacts here = override_facts(*seat.device, *seat.tuner);
  const auto made = override_file(tuned, {here.git_version, here.arch, here.multiprocessors,
                                          seat.tuner->settings().rotate_bytes, request.format});
  const fs::path path = fs::path(request.place.folder) / "hipblaslt_override.txt";
  TRY(write_file(path, text_of(made.file)));
  written.json["override"] = path.string();
  written.text += fmt::format("{} rows for HIPBLASLT_TUNING_OVERRIDE_FILE in {}\n",
                              made.file.rows.size(), path.string());
  add_left_out(written, made.left_out);
  return {};
}

/// Writes a record of every product to the folder's store, unless an earlier process stored it.
/// Products that `measured_on` lacks were measured on the device of `seat`.
Status store_records(const TuneGemmRequest& request, const TuningDevice& seat,
                     const std::vector<TunedProduct>& tuned, const MeasuringDevices& measured_on) {
  Store store = TRY(Store::open(request.place.folder));
  std::set<std::string> stored;
  for (const Record& record : TRY(read_records(request.place.folder)).records) {
    stored.insert(record.cell.id());
  }
  const std::string fingerprint =
      TRY(store.append_fingerprint(take_fingerprint(facts_of(seat.backends))));
  const std::string run = new_run_id();
  std::vector<Record> records;
  for (const TunedProduct& product : tuned) {
    Record record = record_of(product);
    if (stored.contains(record.cell.id())) continue;
    record.run = run;
    record.time = utc_now();
    const auto elsewhere = measured_on.find(product.outcome.problem);
    record.device = elsewhere == measured_on.end() ? seat.device->facts() : elsewhere->second;
    record.fingerprint = fingerprint;
    records.push_back(std::move(record));
  }
  return store.append(records);
}

Status check_results(const TuneGemmRequest& request, TuningDevice& seat, Terminal& terminal,
                     Written& written) {
  if (!request.check) return {};
  if (written.results_file.empty()) {
    written.text += "not checked in PyTorch: there is no results file\n";
    return {};
  }
  const PyTorchSeat where = {request.python, seat.device->facts().ordinal, &interrupt_requested};
  std::vector<TunableRow> rows;
  for (const bool tuned : {true, false}) {
    for (const TunableRow& row : written.rows) {
      if ((row.solution != "Default") == tuned && rows.size() < most_checked) rows.push_back(row);
    }
  }
  const auto check = check_in_pytorch(where, fs::absolute(written.results_file).string(), rows);
  if (!check.ok()) {
    if (check.error().kind != ErrorKind::unavailable) return check.error();
    written.text += fmt::format("not checked in PyTorch: {}\n", check.error().message);
    return {};
  }
  written.json["check"] = check_json(*check);
  written.text +=
      check_text(*check, static_cast<std::size_t>(terminal.width()), terminal.out_style());
  return {};
}

int tune_gemm(const Arguments& arguments, Terminal& terminal) {
  const auto request = read_tune_gemm(arguments);
  if (!request.ok()) return report(terminal, request.error());
  catch_interrupts();
  if (!request->read_files.empty()) {
    return read_tuning_files(*request, arguments.has("--out"), terminal);
  }
  auto seat = open_tuning_device(*request, request->place.own_device());
  if (!seat.ok()) return report(terminal, seat.error());
  const DeviceFacts& facts = seat->device->facts();
  const ProductList list = ordered(request->products, facts);
  const auto products = part_of(list.problems, request->place.part, request->place.parts);
  const auto width = static_cast<std::size_t>(terminal.width());
  note_left_out(list.left_out, list.left_out_count, terminal);
  if (request->list_only) {
    Json json = Json::array();
    for (const CountedProblem& product : products) json.push_back(product_json(product));
    terminal.print(request->json ? json_line(json) + "\n"
                                 : product_list_text(products, facts, width, terminal.out_style()));
    return exit_ok;
  }
  std::error_code error;
  fs::create_directories(request->place.folder, error);
  if (error) {
    return fail_io(terminal,
                   fmt::format("cannot create {}: {}", request->place.folder, error.message()));
  }
  const auto devices = request->place.device_names(seat->backends, facts.backend);
  const bool several = devices.size() > 1;
  MeasuringDevices measured_on;
  const auto tuned =
      several ? tune_on_all(arguments, *request, *seat, devices, products, terminal, measured_on)
              : tune_here(*request, *seat, products, terminal);
  if (!tuned.ok()) return report(terminal, tuned.error());
  Written written;
  Status wrote;
  if (!request->place.for_parent) {
    std::vector<int> ordinals = {facts.ordinal};
    if (several) {
      ordinals.clear();
      for (const std::string& name : devices) {
        const auto colon = name.find(':');
        const auto number =
            parse_integer(colon == std::string::npos ? "0" : name.substr(colon + 1));
        if (number.ok()) ordinals.push_back(static_cast<int>(*number));
      }
    }
    wrote = store_records(*request, *seat, *tuned, measured_on);
    if (wrote.ok()) wrote = write_results(*request, *seat, *tuned, ordinals, written);
    if (wrote.ok()) wrote = write_override(*request, *seat, *tuned, written);
    if (wrote.ok()) wrote = check_results(*request, *seat, terminal, written);
  }
  if (!wrote.ok()) return report(terminal, wrote.error());
  if (request->json) {
    Json json = {{"device", to_json(facts)}, {"products", tuned_json(*tuned)}};
    json.update(written.json);
    terminal.print(json_line(json) + "\n");
    if (!written.text.empty()) terminal.note(written.text);
  } else {
    terminal.print(tuned_text(*tuned, width, terminal.out_style()) + written.text);
  }
  const bool any = std::any_of(tuned->begin(), tuned->end(),
                               [](const TunedProduct& one) { return one.outcome.reason.empty(); });
  return any ? exit_ok : exit_nothing_ran;
}

// ---- The command ----

std::vector<Option> own_options() {
  const auto models = +[] {
    return fmt::format("{} {}", fmt::join(gpt_names(), " "), fmt::join(decoder_names(), " "));
  };
  return {
      {"--model", "NAME", "all products of a step of this model, e.g. 7B, llama3-70b, 6L6H384C",
       models, true},
      {"--tokens", "N[,N...]", "tokens of the model's step, default 8192", ""},
      {"--precision", "TYPE", "of the model, bf16 (default), f16, f32 or tf32",
       "bf16 f16 f32 tf32"},
      {"--from", "FILE",
       "the products of a profiler's trace, of a log of hipBLASLt or rocBLAS or of a tuning file",
       "file", true},
      {"--suite", "NAME", "the products of a suite", &suite_names},
      {"--library", "NAME", "only this library, default auto: all", ""},
      {"--workspace", "SIZE", "the most a solution may need, default 32MiB", ""},
      {"--rotate", "SIZE",
       "operands rotate through this many bytes, default twice the device's caches", ""},
      {"--solutions", "N", "most solutions of each library, default 4096", ""},
      {"--brute-force", "",
       "time every correct solution at length, without a limit of time, to validate the search",
       ""},
      {"--devices", "LIST", "a process on each, e.g. all or hip:0,hip:1", "all"},
      {"--part", "I/N", "only every N-th product from the I-th on, e.g. 0/2", ""},
      {"--format", "NAME", "of hipBLASLt's override file, default named", "ten bench named"},
      {"--validators", "FILE", "take the Validator lines from this TunableOp results file", "file"},
      {"--pytorch", "VERSION", "PyTorch's version, if it is not on this machine", ""},
      {"--python", "PROGRAM", "the Python that has PyTorch, default python3", ""},
      {"--check-pytorch", "", "let PyTorch use the results file, and say what it took", "", false,
       "--check"},
      {"--read", "FILE", "say which rows of a tuning file no longer fit", "file", true},
  };
}

std::vector<Option> options() {
  std::vector<Option> all = {
      {"--device", "NAME", "as for `assay run`", "cpu cuda hip"},
      {"--unit-budget", "TIME",
       "time to try all solutions of a product, default 60s; with a VARIABLE, time for one run", "",
       false, "--budget"},
      {"--pairs", "N",
       "pairs of runs in the proof, an even number from 6, default 12, with a VARIABLE 10", ""},
      {"--dry-run", "", "show what would be tuned and stop", "", false, "--list"},
      {"--out", "DIR", "output folder; default ./tuning", "folder", false, "--output"},
  };
  const std::vector<Option> own = own_options();
  all.insert(all.end(), own.begin(), own.end());
  return with_variable_options(std::move(all));
}

int run(const Arguments& arguments, Terminal& terminal) {
  return tune_variables_or(&tune_gemm, own_options(), arguments, terminal);
}

const Command command = {
    .name = "tune gemm",
    .summary =
        "Find the fastest solutions of matrix products, and write them for PyTorch and hipBLASLt",
    .group = CommandGroup::tune,
    .positionals = "[AXIS=VALUE[,VALUE...]]... [VARIABLE=VALUE[,VALUE...]]...",
    .least_positionals = 1,
    .most_positionals = 128,
    .details =
        R"(Axes name the products as for `assay run gemm`; or they are those of a --suite, or of a step of a
--model (a GPT of `train`, a decoder of `prefill` and `decode`). With --from they come from a trace
(`assay help trace`), a log or a tuning file, which also says how often each is called; those that
take the most time come first. Every solution that the libraries have for a product is checked for
correctness, then timed on rotating operands by successive halving. The fastest one is compared with the library's own choice on alternating runs,
and counts only if these prove a gain.

The folder keeps a journal, from which a stopped tuning continues, tunableop_results*.csv for PyTorch
(PYTORCH_TUNABLEOP_ENABLED=1) and, on AMD GPUs, an override file for hipBLASLt; assay's own models
find the winners in their cache. --read checks tuning files against this machine's PyTorch and
libraries, and merges those of several GPUs. Details: `assay help tune-gemm`.

With an environment VARIABLE to try, gemm is a benchmark like any other (`assay tune --help`); --ranks,
--hosts, --combine and --runs are for that.

  assay tune gemm shape=8192x8192x8192,16384x1024x8192 dtype=bf16,e4m3 layout=TN
  assay tune gemm --model llama3-70b --tokens 16,8192 --devices all --check-pytorch
  assay tune gemm --from trace.json.gz --check-pytorch
  assay tune gemm --from tunableop_untuned0.csv --from hipblaslt.log --format bench
  assay tune gemm --read tunableop_results0.csv --read tunableop_results1.csv --out merged

)",
    .options = options(),
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::tune_gemm_command
