#include "cli/advise/tune_conv_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/option_values.h"
#include "core/units.h"
#include "measure/suites/cells_of_target.h"

namespace assay::cli {
namespace {

Status add_cells_to_tune(const Arguments& arguments, TuneConvRequest& request) {
  std::vector<AxisSetting> axes;
  for (std::size_t i = 1; i < arguments.positionals.size(); ++i) {
    axes.push_back(TRY(parse_axis_setting(arguments.positionals[i])));
    if (axes.back().axis == "find") {
      return Error{ErrorKind::usage,
                   "find= does not go with tune conv, which compares what the library takes before "
                   "and after its own search"};
    }
  }
  const auto is_conv = [](const Cell& cell) { return cell.benchmark() == "conv"; };
  if (arguments.has("--suite")) {
    request.cells = TRY(make_plan(arguments.get("--suite"), axes)).cells;
    if (std::none_of(request.cells.begin(), request.cells.end(), is_conv)) {
      return Error{ErrorKind::usage, fmt::format("--suite {} holds no cell of the benchmark conv",
                                                 arguments.get("--suite"))};
    }
  } else if (!axes.empty() || !arguments.has("--from")) {
    request.cells = TRY(make_plan("conv", axes)).cells;
  }
  return {};
}

}  // namespace

Result<TuneConvRequest> read_tune_conv(const Arguments& arguments) {
  TuneConvRequest request;
  request.place = TRY(read_tune_place(arguments));
  request.pairs = TRY(proof_pairs(arguments.get("--pairs", "10")));
  if (arguments.has("--unit-budget")) {
    const auto seconds = parse_duration(arguments.get("--unit-budget"));
    if (!seconds.ok()) return about("--unit-budget", seconds.error());
    request.budget_seconds = *seconds;
  }
  request.list_only = arguments.has("--dry-run");
  request.json = arguments.has("--json");
  request.db = arguments.get("--db");
  request.before = arguments.get("--before");
  if (!request.before.empty() && !std::filesystem::is_directory(request.before)) {
    return Error{ErrorKind::usage,
                 fmt::format("--before {} is not a folder; allowed: one with MIOpen's user "
                             "databases",
                             request.before.string())};
  }
  for (const std::string& file : arguments.all("--from")) {
    request.from_files.append(TRY(convolutions_of_log(file)));
  }
  TRY(add_cells_to_tune(arguments, request));
  return request;
}

}  // namespace assay::cli
