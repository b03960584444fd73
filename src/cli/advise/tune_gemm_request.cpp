#include "cli/advise/tune_gemm_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/option_values.h"
#include "core/units.h"
#include "judge/trace/trace_report.h"
#include "measure/benchmarks/gemm/gemm_cell.h"
#include "measure/suites/cells_of_target.h"
#include "model/transformer/model_products.h"
#include "results/traces/trace_reader.h"

namespace assay::cli {
namespace {

Status add_models(const Arguments& arguments, ProductList& list) {
  const std::string precision = arguments.get("--precision", "bf16");
  const auto type = parse_data_type(precision);
  if (!type || (type != DataType::bf16 && type != DataType::f16 && type != DataType::f32 &&
                type != DataType::tf32)) {
    return Error{
        ErrorKind::usage,
        fmt::format("--precision \"{}\" is not allowed; allowed: bf16, f16, f32, tf32", precision)};
  }
  for (const std::string& model : arguments.all("--model")) {
    for (const std::string& tokens : split(arguments.get("--tokens", "8192"), ',')) {
      const std::int64_t count = TRY(whole_number("--tokens", tokens, 1, std::uint64_t{1} << 24));
      for (const ModelProduct& product : TRY(products_of_model(model, count, *type))) {
        list.add(product.problem, product.count);
      }
    }
  }
  return {};
}

/// The products of a trace and how often it has each. Where the layout is unknown, it is that of
/// a @ b.
Result<ProductList> products_of_trace(const std::string& file) {
  Timeline timeline;
  TraceStream stream = TRY(TraceStream::open(file));
  TRY(read_trace(std::move(stream), timeline));
  const TraceIndex index(timeline);
  ProductList list;
  for (const DeviceReport& device : report_trace(index).devices) {
    for (const GemmGroup& gemm : device.gemms) {
      const GemmProblem2D& found = gemm.problem;
      const auto type = parse_data_type(gemm.math);
      constexpr std::uint64_t longest_side = std::uint64_t{1} << 24, most_batch = 65'535;
      if (!type || std::max({found.m, found.n, found.k}) > longest_side ||
          found.batch > most_batch) {
        continue;
      }
      const bool transpose_a = gemm.layout == "NT" || gemm.layout == "TT";
      const bool transpose_b = gemm.layout == "TN" || gemm.layout == "TT";
      const auto side = [](std::uint64_t length) { return static_cast<std::int64_t>(length); };
      const GemmProblem problem =
          make_gemm(side(found.m), side(found.n), side(found.k), *type, result_type(*type),
                    transpose_a, transpose_b, side(found.batch));
      if (validate(problem).ok()) list.add(problem, gemm.count);
    }
  }
  if (!list.problems.empty()) return list;
  return Error{
      ErrorKind::usage,
      fmt::format("--from {}: the trace has no matrix product with known shapes; record it "
                  "with record_shapes=True, or with `assay trace record`",
                  file)};
}

Status add_cells(const Arguments& arguments, ProductList& list) {
  std::vector<AxisSetting> axes;
  for (std::size_t i = 1; i < arguments.positionals.size(); ++i) {
    axes.push_back(TRY(parse_axis_setting(arguments.positionals[i])));
  }
  const bool others = arguments.has("--model") || arguments.has("--from");
  if (arguments.has("--suite")) {
    const Plan plan = TRY(make_plan(arguments.get("--suite"), axes));
    const std::size_t before = list.problems.size();
    list.append(products_of_cells(plan.cells));
    if (list.problems.size() == before) {
      return Error{ErrorKind::usage, fmt::format("--suite {} holds no cell of the benchmark gemm",
                                                 arguments.get("--suite"))};
    }
  } else if (!axes.empty() || !others) {
    list.append(products_of_cells(TRY(make_plan("gemm", axes)).cells));
  }
  return {};
}

Status read_settings(const Arguments& arguments, TuneGemmRequest& request) {
  TuneGemmSettings& settings = request.settings;
  settings.library = arguments.get("--library", "auto");
  const auto names = blas_names();
  if (settings.library != "auto" &&
      std::find(names.begin(), names.end(), settings.library) == names.end()) {
    return Error{ErrorKind::usage, fmt::format("--library \"{}\" is not allowed; allowed: auto, {}",
                                               settings.library, fmt::join(names, ", "))};
  }
  if (arguments.has("--workspace")) {
    const auto bytes = parse_size(arguments.get("--workspace"));
    if (!bytes) return about("--workspace", bytes.error());
    settings.workspace_bytes = static_cast<std::size_t>(*bytes);
  }
  if (arguments.has("--rotate")) {
    const auto bytes = parse_size(arguments.get("--rotate"));
    if (!bytes) return about("--rotate", bytes.error());
    settings.rotate_bytes = *bytes;
  }
  if (arguments.has("--unit-budget")) {
    const auto seconds = parse_duration(arguments.get("--unit-budget"));
    if (!seconds) return about("--unit-budget", seconds.error());
    settings.screening_box_seconds = *seconds;
  }
  settings.most_solutions = static_cast<int>(
      TRY(whole_number("--solutions", arguments.get("--solutions", "4096"), 1, 1'000'000)));
  settings.brute_force = arguments.has("--brute-force");
  if (settings.brute_force && arguments.has("--unit-budget")) {
    return Error{
        ErrorKind::usage,
        "--brute-force tries all solutions however long it takes; leave --unit-budget out"};
  }
  settings.pairs = TRY(proof_pairs(arguments.get("--pairs", "12")));
  for (const std::string& word : arguments.positionals) {  // inputs=, as the benchmark's axis
    if (word.starts_with("inputs=")) {
      const auto cells = make_plan("gemm", {TRY(parse_axis_setting(word))});
      if (cells.ok() && !cells->cells.empty()) {
        settings.inputs = parse_gemm_cell(cells->cells.front()).inputs;
      }
    }
  }
  return {};
}

}  // namespace

Result<TuneGemmRequest> read_tune_gemm(const Arguments& arguments) {
  TuneGemmRequest request;
  request.read_files = arguments.all("--read");
  request.list_only = arguments.has("--dry-run");
  request.check = arguments.has("--check-pytorch");
  request.json = arguments.has("--json");
  request.place = TRY(read_tune_place(arguments));
  request.python = arguments.get("--python", "python3");
  request.pytorch = arguments.get("--pytorch");
  request.validators_file = arguments.get("--validators");
  const auto format = parse_override_format(arguments.get("--format", "named"));
  if (!format) {
    return Error{ErrorKind::usage,
                 fmt::format("--format \"{}\" is not allowed; allowed: ten, bench, named",
                             arguments.get("--format"))};
  }
  request.format = *format;
  TRY(read_settings(arguments, request));
  if (!request.read_files.empty()) return request;
  TRY(add_models(arguments, request.products));
  for (const std::string& file : arguments.all("--from")) {
    request.products.append(is_trace(file) ? TRY(products_of_trace(file))
                                           : TRY(products_of_file(file)));
  }
  TRY(add_cells(arguments, request.products));
  return request;
}

}  // namespace assay::cli
