// assay tune conv: lets libraries search for the fastest convolutions, and proves what that brings.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "advise/tune/conv/convolution_runs.h"
#include "advise/tune/conv/kept_records.h"
#include "cli/advise/tune_benchmark.h"
#include "cli/advise/tune_conv_request.h"
#include "cli/advise/tune_conv_view.h"
#include "cli/advise/tune_progress.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "compute/vendor/convolution/convolution.h"
#include "core/file_error.h"
#include "core/json.h"
#include "core/own_binary.h"
#include "measure/benchmarks/conv/conv_cell.h"

namespace assay::cli::tune_conv_command {
namespace {

namespace fs = std::filesystem;

constexpr const char* journal_what = "assay tune conv";

/// What is known of the device. It is open only while it is asked, because the runs need its
/// memory.
struct ConvolutionPlace {
  DeviceFacts facts;
  std::string name;  // "hip:0"
  std::vector<std::string> devices;
  ConvolutionList list;
  std::string library;  // "MIOpen 3.4.0"

  bool has_databases() const { return facts.is_amd(); }
};

Result<ConvolutionPlace> look_at_device(const TuneConvRequest& request) {
  ConvolutionPlace place;
  auto backends = make_backends();
  const auto device = TRY(open_device(backends, request.place.own_device()));
  place.facts = device->facts();
  place.name = fmt::format("{}:{}", place.facts.backend, place.facts.ordinal);
  place.devices = request.place.device_names(backends, place.facts.backend);
  if (!place.has_databases() && !(request.db.empty() && request.before.empty())) {
    return Error{ErrorKind::usage,
                 fmt::format("--db and --before are for MIOpen's databases, on devices of the "
                             "backend hip, not {}",
                             place.facts.backend)};
  }
  ConvolutionList list = convolutions_of_cells(request.cells, place.facts);
  list.append(request.from_files);
  place.list = ordered(list, place.facts);
  place.list.problems = part_of(place.list.problems, request.place.part, request.place.parts);
  // More devices than convolutions have nothing to do.
  place.devices.resize(std::min(place.devices.size(), place.list.problems.size()));
  if (!place.list.problems.empty() && !request.list_only) {
    place.library =
        TRY(open_convolution(*device, "auto", place.list.problems.front().problem))->library();
  }
  return place;
}

/// Folders of MIOpen's databases.
struct DatabasePlaces {
  fs::path tuned;   // the search writes here
  fs::path before;  // the databases to compare with; empty: those that the environment names
  fs::path origin;  // a copy of `tuned` from before the tuning; empty: it did not exist
};

/// Copies the given database as it is when the tuning begins. Error: as copy_miopen_databases()
/// and kind_of_file_error().
Result<DatabasePlaces> prepare_databases(const TuneConvRequest& request, Terminal& terminal) {
  DatabasePlaces places;
  const fs::path folder = fs::absolute(request.place.folder);
  places.tuned = request.db.empty() ? folder / "miopen" : fs::absolute(request.db);
  if (!request.before.empty()) places.before = fs::absolute(request.before);
  if (request.place.for_parent) return places;
  if (!request.db.empty()) {
    if (std::error_code error; !fs::exists(places.tuned, error)) {
      terminal.note(fmt::format("--db {} does not exist: its databases will be new ones\n",
                                places.tuned.string()));
    }
    places.origin = folder / "miopen-before";
    if (!fs::exists(places.origin)) {
      // The copy has another name until it is complete, so that an interrupted one is made again.
      const fs::path unfinished = folder / "miopen-before.part";
      std::error_code error;
      fs::remove_all(unfinished, error);
      if (!error) {
        TRY(copy_miopen_databases(places.tuned, unfinished));
        fs::rename(unfinished, places.origin, error);
      }
      if (error) {
        return Error{kind_of_file_error(error.value()),
                     fmt::format("cannot create the folder {}: {}", places.origin.string(),
                                 error.message())};
      }
    }
    if (places.before.empty()) places.before = places.origin;
  }
  return places;
}

class ProgressWitness final : public TuningWitness {
 public:
  explicit ProgressWitness(Terminal& terminal) : terminal_(terminal) {}
  void begins(ConvolutionRole, std::size_t steps) override { progress_.emplace(terminal_, steps); }
  void known() override { progress_->known(); }
  void doing(std::string_view name) override { progress_->doing(std::string(name), ""); }
  void done(std::string_view name, double seconds, std::string_view result) override {
    progress_->done(std::string(name), seconds, result);
  }

 private:
  Terminal& terminal_;
  std::optional<TuneProgress> progress_;
};

/// Everything on which the steps depend, so that a journal of another tuning is not continued. This
/// includes the list of convolutions, because a proof runs all of them together.
Json identity_of(const TuneConvRequest& request, const ConvolutionPlace& place,
                 const DatabasePlaces& databases) {
  Json settings = {{"pairs", request.pairs}, {"budget", request.budget_seconds}};
  if (place.has_databases()) {
    settings["databases"] = databases.tuned.string();
    settings["before"] = databases.before.string();
  }
  Json convolutions = Json::object();
  for (const CountedConvolution& one : place.list.problems) {
    convolutions[describe(one.problem)] = true;
  }
  return {{"what", journal_what},
          {"format", 1},
          {"device", identity_of_device(place.facts)},
          {"library", place.library},
          {"settings", settings},
          {"part", fmt::format("{}/{}", request.place.part, request.place.parts)},
          {"convolutions", convolutions}};
}

/// Tunes this process's part.
Result<ConvolutionSteps> tune_part(const TuneConvRequest& request, const ConvolutionPlace& place,
                                   const DatabasePlaces& databases, Terminal& terminal) {
  TuningJournal journal =
      TRY(TuningJournal::open(request.place.folder, identity_of(request, place, databases)));
  if (!journal.steps().empty()) {
    terminal.note(fmt::format("continuing after {} steps\n", journal.steps().size()));
  }
  const ConvolutionRunRequest run = {TRY(own_binary()), place.name, request.budget_seconds,
                                     request.place.folder, &interrupt_requested};
  const fs::path cache = fs::absolute(request.place.folder) / "cache";
  ProgressWitness witness(terminal);
  return tune_convolutions(
      request.place.folder, journal, place.list.problems, request.pairs,
      [&](ConvolutionRole role, std::span<const ConvolutionProblem> problems) {
        return run_convolutions(run, role,
                                place.has_databases()
                                    ? miopen_way(role, databases.tuned, databases.before)
                                    : chosen_way(role, cache),
                                problems);
      },
      witness);
}

/// One process for each device, each with its part; their journals are the result.
Result<std::vector<ConvolutionOutcome>> tune_all_parts(const Arguments& arguments,
                                                       const TuneConvRequest& request,
                                                       const ConvolutionPlace& place,
                                                       const DatabasePlaces& databases,
                                                       Terminal& terminal) {
  std::vector<std::string> more;
  if (place.has_databases() && !arguments.has("--db")) {
    more.insert(more.end(), {"--db", databases.tuned.string()});
  }
  if (!databases.before.empty() && !arguments.has("--before")) {
    more.insert(more.end(), {"--before", databases.before.string()});
  }
  const auto folders = TRY(tune_on_each(arguments, request.place, place.devices, more, terminal));
  std::vector<ConvolutionOutcome> outcomes;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const JournalLines lines = TRY(TuningJournal::read(folders[i], journal_what));
    const auto steps = TRY(convolution_steps(folders[i], lines.steps));
    const auto part =
        outcomes_of(part_of(place.list.problems, i, folders.size()), steps, place.facts);
    outcomes.insert(outcomes.end(), part.begin(), part.end());
  }
  return outcomes;
}

/// The outcomes of all convolutions, tuned by this process or by one process on each device.
Result<std::vector<ConvolutionOutcome>> tune_everything(const Arguments& arguments,
                                                        const TuneConvRequest& request,
                                                        const ConvolutionPlace& place,
                                                        const DatabasePlaces& databases,
                                                        Terminal& terminal) {
  if (place.devices.size() > 1) {
    return tune_all_parts(arguments, request, place, databases, terminal);
  }
  const auto steps = TRY(tune_part(request, place, databases, terminal));
  return outcomes_of(place.list.problems, steps, place.facts);
}

/// The databases as they were when the tuning began.
Result<MiopenDatabases> databases_before(const DatabasePlaces& places) {
  if (places.origin.empty()) return MiopenDatabases();
  return read_miopen_databases(places.origin);
}

/// Restores the earlier records of convolutions without a proven gain. Error: as from
/// take_back_unproven().
Status keep_in_databases(const DatabasePlaces& databases, std::vector<ConvolutionOutcome>& outcomes,
                         Terminal& terminal) {
  const MiopenDatabases origin = TRY(databases_before(databases));
  const TakenBack taken = TRY(take_back_unproven(databases.tuned, origin, outcomes));
  if (taken.records > 0) {
    terminal.note(
        fmt::format("undone in the databases: {} records of convolutions without a proven gain "
                    "({})\n",
                    taken.records, taken.convolutions));
  }
  for (const std::string& file : taken.unmended) {
    terminal.note(fmt::format(
        "{} is not a text database: its changes for convolutions without a proven gain ({}) cannot "
        "be undone{}\n",
        (databases.tuned / file).string(), taken.convolutions,
        databases.origin.empty()
            ? ""
            : fmt::format("; what was there before is in {}", databases.origin.string())));
  }
  return {};
}

/// Stores the proven choices in the cache from which `assay run conv` reads them.
void keep_in_cache(const ConvolutionPlace& place, const std::vector<ConvolutionOutcome>& outcomes) {
  const ChoiceCache cache = ChoiceCache::of_user(place.facts);
  for (const ConvolutionOutcome& outcome : outcomes) {
    const bool own_is_fastest = outcome.reason.empty() && (outcome.pairs == 0 || outcome.slower);
    if (!own_is_fastest && !outcome.faster) continue;
    cache.keep(place.facts, conv_choice_key(place.library, outcome.convolution.problem),
               (outcome.faster ? outcome.after : outcome.before).algorithm);
  }
}

/// Prints what was tuned, as text or as JSON. Error: as read_miopen_databases().
Status show_outcomes(const TuneConvRequest& request, const ConvolutionPlace& place,
                     const DatabasePlaces& databases,
                     const std::vector<ConvolutionOutcome>& outcomes, Terminal& terminal) {
  Json json = {{"device", to_json(place.facts)},
               {"library", place.library},
               {"convolutions", tuned_convolutions_json(outcomes)}};
  std::string text = tuned_convolutions_text(outcomes, static_cast<std::size_t>(terminal.width()),
                                             terminal.out_style());
  if (!place.has_databases()) {
    text += fmt::format(
        "{} keeps no databases: before is its own first choice, after the fastest "
        "of all it proposes, which assay remembers for its own runs, if proven\n",
        place.library);
  } else if (!request.place.for_parent) {
    const MiopenDatabases origin = TRY(databases_before(databases));
    const auto changes = database_changes(origin, TRY(read_miopen_databases(databases.tuned)));
    json["databases"] = databases_json(databases.tuned.string(), changes);
    text += databases_text(databases.tuned.string(), changes);
  }
  if (place.facts.emulated) text += "model: an emulated device; nothing was measured\n";
  terminal.print(request.json ? json_line(json) + "\n" : text);
  return {};
}

int tune_conv(const Arguments& arguments, Terminal& terminal) {
  const auto request = read_tune_conv(arguments);
  if (!request.ok()) return report(terminal, request.error());
  catch_interrupts();
  const auto place = look_at_device(*request);
  if (!place.ok()) return report(terminal, place.error());
  note_left_out(place->list.left_out, place->list.left_out_count, terminal);
  if (request->list_only) {
    terminal.print(request->json ? json_line(convolution_list_json(place->list.problems)) + "\n"
                                 : convolution_list_text(place->list.problems, place->facts,
                                                         static_cast<std::size_t>(terminal.width()),
                                                         terminal.out_style()));
    return exit_ok;
  }
  if (place->list.problems.empty()) {
    terminal.complain("no convolution is left to tune");
    return exit_nothing_ran;
  }
  std::error_code error;
  fs::create_directories(request->place.folder, error);
  if (error) {
    terminal.complain(fmt::format("cannot create {}: {}", request->place.folder, error.message()));
    return exit_io;
  }
  const auto databases = place->has_databases() ? prepare_databases(*request, terminal)
                                                : Result<DatabasePlaces>(DatabasePlaces());
  if (!databases.ok()) return report(terminal, databases.error());
  auto outcomes = tune_everything(arguments, *request, *place, *databases, terminal);
  if (!outcomes.ok()) return report(terminal, outcomes.error());
  Status shown;
  if (!request->place.for_parent) {
    if (place->has_databases()) {
      shown = keep_in_databases(*databases, *outcomes, terminal);
    } else {
      keep_in_cache(*place, *outcomes);
    }
  }
  if (shown.ok()) shown = show_outcomes(*request, *place, *databases, *outcomes, terminal);
  if (!shown.ok()) return report(terminal, shown.error());
  const bool any =
      std::any_of(outcomes->begin(), outcomes->end(),
                  [](const ConvolutionOutcome& outcome) { return outcome.reason.empty(); });
  return any ? exit_ok : exit_nothing_ran;
}

// ---- The command ----

std::vector<Option> own_options() {
  return {
      {"--from", "FILE", "the convolutions of a log of MIOpen", "file", true},
      {"--suite", "NAME", "the convolutions of a suite", "resnet50 stable-diffusion unet3d"},
      {"--devices", "LIST", "a process on each, e.g. all or hip:0,hip:1", "all"},
      {"--part", "I/N", "only every N-th convolution from the I-th on, e.g. 0/2", ""},
      {"--db", "FOLDER",
       "MIOpen's user databases to improve; default: new ones in the output folder", "folder"},
      {"--before", "FOLDER",
       "MIOpen's user databases to compare with; default: what --db had, or those in use",
       "folder"},
  };
}

std::vector<Option> options() {
  std::vector<Option> all = {
      {"--device", "NAME", "as for `assay run`", "cpu cuda hip"},
      {"--unit-budget", "TIME",
       "time for each convolution in a run, default 3s; with a VARIABLE, time for one run", "",
       false, "--budget"},
      {"--pairs", "N", "pairs of runs in the proof, an even number from 6, default 10", ""},
      {"--dry-run", "", "show what would be tuned and stop", "", false, "--list"},
      {"--out", "DIR", "output folder; default ./tuning", "folder", false, "--output"},
  };
  const std::vector<Option> own = own_options();
  all.insert(all.end(), own.begin(), own.end());
  return with_variable_options(std::move(all));
}

int run(const Arguments& arguments, Terminal& terminal) {
  return tune_variables_or(&tune_conv, own_options(), arguments, terminal);
}

const Command command = {
    .name = "tune conv",
    .summary = "Let libraries search for the fastest convolutions, and prove what that brings",
    .group = CommandGroup::tune,
    .positionals = "[AXIS=VALUE[,VALUE...]]... [VARIABLE=VALUE[,VALUE...]]...",
    .least_positionals = 1,
    .most_positionals = 128,
    .details =
        R"(The convolutions are those of the cells named by axes as for `assay run conv`, of a --suite
(resnet50, stable-diffusion, unet3d), or --from a log that MIOPEN_ENABLE_LOGGING_CMD=1 made a program
print. On AMD GPUs, MIOpen searches exhaustively for each and writes what it finds to user databases,
new ones or those of --db. Then all convolutions run in fresh processes, alternating between the old
and the new databases, which proves the gain. Changes without a proven gain are undone. cuDNN and
oneDNN keep no databases: their first choice is compared with the fastest of all that they propose.
Details: `assay help tune-conv`.

With an environment VARIABLE to try, conv is a benchmark like any other (`assay tune --help`); --ranks,
--hosts, --combine and --runs are for that.

  assay tune conv --suite resnet50 precision=bf16 --devices all
  assay tune conv --from miopen.log --db ~/.config/miopen

)",
    .options = options(),
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::tune_conv_command
