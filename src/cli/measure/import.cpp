// assay import: results of other programs, as a table, as records or into a store.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/metrics_view.h"
#include "cli/results_view.h"
#include "cli/table.h"
#include "core/input_file.h"
#include "core/json.h"
#include "results/import/importer.h"
#include "results/store/record_json.h"
#include "results/store/store.h"

namespace assay::cli::import_command {
namespace {

/// A file given by the user or found in a given folder.
struct File {
  std::string path;
  bool named = false;    ///< given by the user, not found in a folder
  bool unknown = false;  ///< found in a folder, and of no program that is known
  std::optional<Imported> imported = {};
  std::string problem = {};  ///< why it was not imported
};

/// The files directly in the folder, sorted by name. Error: usage if it cannot be read.
Result<std::vector<File>> files_in(const std::string& folder) {
  std::vector<File> files;
  for (const std::filesystem::path& path : TRY(list_folder(folder))) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) files.push_back({.path = path.string()});
  }
  if (files.empty()) return Error{ErrorKind::usage, fmt::format("{} holds no files", folder)};
  return files;
}

Result<std::vector<File>> files_of(const std::vector<std::string>& operands) {
  std::vector<File> files;
  for (const std::string& operand : operands) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(operand, ignored)) {
      files.push_back({.path = operand, .named = true});
      continue;
    }
    for (File& file : TRY(files_in(operand))) files.push_back(std::move(file));
  }
  return files;
}

void read(File& file, std::string_view format) {
  const auto text = read_import_file(file.path);
  if (!text.ok()) {
    file.problem = text.error().message;
    return;
  }
  const ImportText input{*text, file.path};
  file.unknown = !file.named && format.empty() && !is_recognised(input);
  if (file.unknown) return;
  auto imported = import_text(input, format);
  if (imported.ok()) {
    file.imported = std::move(*imported);
  } else {
    file.problem = imported.error().message;
  }
}

/// "logs: 3 of 20 files are of no known program: a.txt, b.py, c": one line for each folder, since a
/// folder of results often holds much else.
std::vector<std::string> unknown_files(const std::vector<File>& files) {
  constexpr std::size_t most_names = 5;
  struct Folder {
    std::size_t files = 0;
    std::vector<std::string> unknown;
  };
  std::map<std::string, Folder> folders;
  for (const File& file : files) {
    if (file.named) continue;
    const std::filesystem::path path(file.path);
    Folder& folder = folders[path.parent_path().string()];
    ++folder.files;
    if (file.unknown) folder.unknown.push_back(path.filename().string());
  }
  std::vector<std::string> lines;
  for (const auto& [path, folder] : folders) {
    if (folder.unknown.empty()) continue;
    const std::size_t shown = std::min(folder.unknown.size(), most_names);
    std::string line = fmt::format(
        "{}: {} of {} files are of no known program: {}", path, folder.unknown.size(), folder.files,
        fmt::join(folder.unknown.begin(),
                  folder.unknown.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
    if (folder.unknown.size() > shown) {
      line += fmt::format(" and {} more", folder.unknown.size() - shown);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::size_t count_runs(const std::vector<Record>& records) {
  std::set<std::string_view> runs;
  for (const Record& record : records) runs.insert(record.run);
  return runs.size();
}

/// "serving output_throughput 1199 tokens/s": the last row, which usually has a file's most
/// important number.
std::string headline(const std::vector<Record>& records) {
  const Record& last = records.back();
  if (last.metrics.empty()) return std::string(name_of(last.status));
  return fmt::format("{} {}{}", last.metrics.front().name, model_mark(last.device.emulated),
                     format_metric(last.metrics.front()));
}

std::string table_of(const std::vector<File>& files, const Terminal& terminal) {
  const Style style = terminal.out_style();
  Table table({{"file", Column::Align::left, 0},
               {"format", Column::Align::left, 0},
               {"results", Column::Align::right, 0},
               {"runs", Column::Align::right, 1},
               {"last one", Column::Align::left, 2},
               {"not passed", Column::Align::right, 4},
               {"warnings", Column::Align::right, 3}});
  for (const File& file : files) {
    const std::string name = std::filesystem::path(file.path).filename().string();
    if (file.unknown) continue;
    if (!file.imported) {
      table.add({name, style.red("not read"), "", "", "", "", ""});
      continue;
    }
    const auto& records = file.imported->records;
    const auto bad = std::count_if(records.begin(), records.end(), [](const Record& record) {
      return record.status != RecordStatus::passed;
    });
    const std::size_t warnings = file.imported->warnings.size();
    table.add({name, file.imported->format, fmt::format("{}", records.size()),
               fmt::format("{}", count_runs(records)), headline(records),
               bad > 0 ? style.red(fmt::format("{}", bad)) : "",
               warnings > 0 ? style.yellow(fmt::format("{}", warnings)) : ""});
  }
  return table.render(static_cast<std::size_t>(terminal.width()), style, 0);
}

/// Prints warnings, and why results are not `passed`, to standard error.
void complain_about(const std::vector<File>& files, Terminal& terminal) {
  for (const std::string& line : unknown_files(files)) terminal.complain(line);
  for (const File& file : files) {
    if (file.unknown) continue;
    if (!file.imported) {
      terminal.complain(file.problem);
      continue;
    }
    for (const std::string& warning : file.imported->warnings) {
      terminal.complain(fmt::format("{}: {}", file.path, warning));
    }
    std::set<std::string> reasons;
    for (const Record& record : file.imported->records) {
      if (record.status != RecordStatus::failed && record.status != RecordStatus::error) continue;
      if (!reasons.insert(record.reason).second) continue;
      terminal.complain(fmt::format("{}: {}: {}: {}", file.path, name_of(record.status),
                                    record.cell.id(), record.reason));
    }
  }
}

/// Appends the records that the store does not have. Returns the message to show.
Result<std::string> store(std::vector<File>& files, const std::string& folder) {
  Store target = TRY(Store::open(folder));
  std::vector<std::vector<Record>> batches;
  std::size_t all = 0;
  for (File& file : files) {
    if (!file.imported) continue;
    all += file.imported->records.size();
    batches.push_back(std::move(file.imported->records));
  }
  const std::size_t stored = TRY(target.append_new(batches));
  std::string text = fmt::format("{} results stored in {}", stored, folder);
  if (stored < all) text += fmt::format("; {} were already there", all - stored);
  return text + "\n";
}

Result<int> import(const Arguments& arguments, Terminal& terminal) {
  std::vector<File> files = TRY(files_of(arguments.positionals));
  bool named_failed = false, any = false;
  for (File& file : files) {
    read(file, arguments.get("--input-format"));
    named_failed = named_failed || (file.named && !file.imported);
    any = any || file.imported.has_value();
  }
  complain_about(files, terminal);
  if (!any) return static_cast<int>(exit_usage);
  if (arguments.has("--json")) {
    for (const File& file : files) {
      if (!file.imported) continue;
      for (const Record& record : file.imported->records) {
        terminal.print(json_line(to_json(record)) + "\n");
      }
    }
  } else {
    terminal.print(table_of(files, terminal));
  }
  if (arguments.has("--out")) terminal.note(TRY(store(files, arguments.get("--out"))));
  return static_cast<int>(named_failed ? exit_usage : exit_ok);
}

std::string format_names() {
  std::string names;
  for (const Importer* importer : importers()) names += std::string(importer->name()) + ' ';
  return names;
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto status = import(arguments, terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

const Command command = {
    .name = "import",
    .summary = "Read the results of other programs",
    .group = CommandGroup::compare,
    .positionals = "FILE|FOLDER...",
    .least_positionals = 1,
    .most_positionals = 4096,
    .details = R"(The format is recognised from the content: nccl-tests, rccl-tests, mscclpp-test,
ucc_perftest, perftest, OSU micro-benchmarks, TransferBench, nvbandwidth, rocm-bandwidth-test,
p2pBandwidthLatencyTest, bandwidthTest, hipBusBandwidth, BabelStream, STREAM, Intel MLC,
hipblaslt-bench, rocblas-bench, MIOpenDriver, vLLM, SGLang, InferenceX, guidellm, aiperf,
genai-perf, llama-bench, SuperBench, MAD, Google Benchmark, pytest-benchmark, nvbench;
docs/import.md says what is read from each. Files may be compressed with gzip or zstd. For a
FOLDER every file in it is tried. A file with an error gives no records; oddities are reported
on standard error with their line. --json prints the records, one per line. The exit status is
2 if a given FILE could not be read, or if nothing could.

  assay import all_reduce.log
  assay import results/*.json --out imported && assay show imported
  assay import logs --json | jq 'select(.status != "passed")'

)",
    .options =
        {
            {"--input-format", "NAME",
             "the format, instead of guessing it; `assay help import` lists them", &format_names,
             false, "--format"},
            {"--out", "DIR", "store the results there, as `assay run` does", "folder", false,
             "--output"},
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::import_command
