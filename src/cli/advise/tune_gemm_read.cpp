#include "cli/advise/tune_gemm_read.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "advise/tune/gemm/tuning_file_facts.h"
#include "cli/advise/tuning_device.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/table.h"
#include "compute/device/backend.h"
#include "core/json.h"
#include "core/read_file.h"
#include "core/shown_text.h"
#include "core/write_file.h"

namespace assay::cli {
namespace {

constexpr std::size_t most_bytes_read = std::size_t{256} << 20;

/// A row of a file, and why it does not fit this machine; an empty reason: it fits.
struct RowFit {
  std::string row, reason;
};

struct FileFit {
  std::string name;
  std::vector<std::string> reasons;  ///< why the whole file is ignored
  std::vector<RowFit> rows;

  std::size_t unfit() const {
    std::size_t count = reasons.empty() ? 0 : 1;
    for (const RowFit& row : rows) count += row.reason.empty() ? 0 : 1;
    return count;
  }
};

class Reader {
 public:
  Reader(const TuneGemmRequest& request, TuningDevice& seat) : request_(request), seat_(seat) {}

  Result<FileFit> read(const std::string& name) {
    FileFit fit;
    fit.name = name;
    const std::string text = TRY(read_operand(name, most_bytes_read));
    const TunableResults results = parse_tunable_results(text);
    const bool tunable =
        !results.rows.empty() && results.rows.front().key.op.find("TunableOp") != std::string::npos;
    if (tunable || (!results.validators.empty() && results.rows.empty())) {
      fit_results(results, fit);
      tunable_.push_back({name, results});
      return fit;
    }
    const OverrideFile overrides = parse_override(text);
    if (overrides.rows.empty()) {
      return Error{ErrorKind::usage,
                   fmt::format("{} is neither a results file of TunableOp nor an override file of "
                               "hipBLASLt",
                               name)};
    }
    fit_overrides(overrides, fit);
    return fit;
  }

  const std::vector<NamedResults>& tunable() const { return tunable_; }

 private:
  void fit_results(const TunableResults& results, FileFit& fit) {
    if (!validators_) validators_ = find_validators(request_, seat_);
    if (validators_->ok()) {
      fit.reasons = misfits(results, **validators_);
    } else {
      fit.reasons.push_back("its validators were not compared: " + validators_->error().message);
    }
    for (const IgnoredLine& line : results.ignored) {
      fit.rows.push_back({fmt::format("line {}", line.number), line.why});
    }
    for (const TunableRow& row : results.rows) {
      if (interrupt_requested()) return;
      fit.rows.push_back(
          {fmt::format("{} {} {}", row.key.op, row.key.parameters, row.solution), reason_of(row)});
    }
  }

  std::string reason_of(const TunableRow& row) {
    const auto call = call_of(row.key);
    if (!call.ok()) return call.error().message;
    if (row.solution == "Default") return {};
    const auto solution = parse_solution(row.solution);
    if (!solution) return "no solution of this PyTorch has this name";
    const auto problem = problem_of(*call);
    if (!problem.ok()) return "not looked for: " + problem.error().message;
    return missing_solution(*seat_.device, *seat_.tuner, *problem,
                            solution->library == BlasLibrary::hipblaslt ? "hipblaslt" : "rocblas",
                            solution->index);
  }

  void fit_overrides(const OverrideFile& file, FileFit& fit) {
    const OverrideFacts here = override_facts(*seat_.device, *seat_.tuner);
    for (const IgnoredLine& line : file.ignored) {
      fit.rows.push_back({fmt::format("line {}", line.number), line.why});
    }
    for (const OverrideRow& row : file.rows) {
      if (interrupt_requested()) return;
      const auto call = row.call();
      const auto problem = call.ok() ? problem_of(*call) : Result<GemmProblem>(Error(call.error()));
      std::string reason = misfit(file, row, here);
      if (reason.empty() && !problem.ok()) reason = problem.error().message;
      if (reason.empty()) {
        reason = missing_solution(*seat_.device, *seat_.tuner, *problem, "hipblaslt",
                                  row.solution_index().value_or(-1));
      }
      fit.rows.push_back(
          {fmt::format("{} solution {}", problem.ok() ? describe(*problem) : "a damaged row",
                       row.solution_index().value_or(-1)),
           reason});
    }
  }

  const TuneGemmRequest& request_;
  TuningDevice& seat_;
  std::optional<Result<Validators>> validators_;
  std::vector<NamedResults> tunable_;
};

std::string fit_text(const FileFit& fit, std::size_t width, const Style& style) {
  std::size_t fitting = 0;
  for (const RowFit& row : fit.rows) fitting += row.reason.empty() ? 1 : 0;
  std::string text = fmt::format("{}: {} of {} rows fit\n", fit.name,
                                 fit.reasons.empty() ? fitting : 0, fit.rows.size());
  for (const std::string& reason : fit.reasons) text += fmt::format("  {}\n", reason);
  Table table({{"row"}, {"why it does not fit"}});
  for (const RowFit& row : fit.rows) {
    if (!row.reason.empty()) {
      table.add({shown_line(row.row, 200), shown_line(row.reason, 300)});
    }
  }
  if (!table.empty()) text += table.render(width, style);
  return text;
}

Json fit_json(const FileFit& fit) {
  Json json = {{"file", fit.name}, {"reasons", fit.reasons}, {"rows", Json::array()}};
  for (const RowFit& row : fit.rows) {
    Json one = {{"row", row.row}, {"fits", row.reason.empty()}};
    if (!row.reason.empty()) one["reason"] = row.reason;
    json["rows"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

int read_tuning_files(const TuneGemmRequest& request, bool write, Terminal& terminal) {
  auto seat = open_tuning_device(request, request.place.device);
  if (!seat.ok()) return report(terminal, seat.error());
  Reader reader(request, *seat);
  Json json = {{"files", Json::array()}};
  std::string text;
  std::size_t unfit = 0;
  for (const std::string& name : request.read_files) {
    const auto fit = reader.read(name);
    if (!fit.ok()) return report(terminal, fit.error());
    if (interrupt_requested()) return exit_interrupted;
    unfit += fit->unfit();
    json["files"].push_back(fit_json(*fit));
    text += fit_text(*fit, static_cast<std::size_t>(terminal.width()), terminal.out_style());
  }
  if (write && !reader.tunable().empty()) {
    const auto all = merged(reader.tunable());
    if (!all.ok()) return report(terminal, all.error());
    const std::filesystem::path path =
        std::filesystem::path(request.place.folder) / "tunableop_results.csv";
    const Status created = create_folder(request.place.folder);
    if (!created.ok()) return report(terminal, created.error());
    const Status written = write_file(path, text_of(*all));
    if (!written.ok()) return report(terminal, written.error());
    json["merged"] = path.string();
    text += fmt::format("{} rows in {}\n", all->rows.size(), path.string());
  }
  terminal.print(request.json ? json_line(json) + "\n" : text);
  return unfit > 0 ? exit_differs : exit_ok;
}

}  // namespace assay::cli
