#include "cli/tune_gemm_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/cli.h"
#include "core/units.h"
#include "measure/benchmarks/gemm_cell.h"
#include "measure/benchmarks/plan.h"
#include "model/model_products.h"
#include "statistics/paired.h"
#include "tune/proof.h"

namespace assay::cli {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  for (;;) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    if (end == text.size()) return parts;
    at = end + 1;
  }
}

Result<std::int64_t> whole_number(std::string_view option, const std::string& text,
                                  std::uint64_t least, std::uint64_t most) {
  const auto value = parse_integer(text);
  if (!value || *value < least || *value > most) {
    return Error{ErrorKind::usage,
                 fmt::format("{} \"{}\" is not allowed; allowed: whole numbers from {} to {}",
                             option, text, least, most)};
  }
  return static_cast<std::int64_t>(*value);
}

void append(ProductList& all, ProductList more) {
  all.products.insert(all.products.end(), more.products.begin(), more.products.end());
  all.left_out.insert(all.left_out.end(), more.left_out.begin(), more.left_out.end());
  all.left_out_count += more.left_out_count;
}

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

Status add_cells(const Arguments& arguments, ProductList& list) {
  std::vector<AxisSetting> axes;
  for (std::size_t i = 1; i < arguments.positionals.size(); ++i) {
    axes.push_back(TRY(parse_axis_setting(arguments.positionals[i])));
  }
  const bool others = arguments.has("--model") || arguments.has("--from");
  if (arguments.has("--suite")) {
    const Plan plan = TRY(make_plan(arguments.get("--suite"), axes));
    const std::size_t before = list.products.size();
    append(list, products_of_cells(plan.cells));
    if (list.products.size() == before) {
      return Error{ErrorKind::usage, fmt::format("--suite {} holds no cell of the benchmark gemm",
                                                 arguments.get("--suite"))};
    }
  } else if (!axes.empty() || !others) {
    append(list, products_of_cells(TRY(make_plan("gemm", axes)).cells));
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
  if (arguments.has("--budget")) {
    const auto seconds = parse_duration(arguments.get("--budget"));
    if (!seconds) return about("--budget", seconds.error());
    settings.screening_box_seconds = *seconds;
  }
  settings.most_solutions = static_cast<int>(
      TRY(whole_number("--solutions", arguments.get("--solutions", "4096"), 1, 1'000'000)));
  const auto pairs =
      TRY(whole_number("--pairs", arguments.get("--pairs", "12"), least_units, most_proof_pairs));
  if (pairs % 2 != 0) {
    return Error{ErrorKind::usage,
                 fmt::format("--pairs {} is not allowed; allowed: even numbers, so that each "
                             "solution comes first equally often",
                             pairs)};
  }
  settings.pairs = static_cast<std::size_t>(pairs);
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
  for (const char* option : {"--ranks", "--hosts", "--combine", "--limit"}) {
    if (arguments.has(option)) {
      return Error{ErrorKind::usage, fmt::format("{} does not go with tune gemm", option)};
    }
  }
  request.read_files = arguments.all("--read");
  request.list_only = arguments.has("--list");
  request.check = arguments.has("--check");
  request.json = arguments.has("--json");
  request.device = arguments.get("--device");
  request.folder = arguments.get("--out", "tuning");
  request.python = arguments.get("--python", "python3");
  request.pytorch = arguments.get("--pytorch");
  request.validators_file = arguments.get("--validators");
  if (arguments.has("--devices")) request.devices = split(arguments.get("--devices"), ',');
  const auto format = parse_override_format(arguments.get("--format", "named"));
  if (!format) {
    return Error{ErrorKind::usage,
                 fmt::format("--format \"{}\" is not allowed; allowed: ten, bench, named",
                             arguments.get("--format"))};
  }
  request.format = *format;
  if (arguments.has("--part")) {
    const auto words = split(arguments.get("--part"), '/');
    if (words.size() != 2) {
      return Error{ErrorKind::usage, "--part is not allowed so; allowed: I/N, e.g. 0/8"};
    }
    request.parts = static_cast<std::size_t>(TRY(whole_number("--part", words[1], 1, 4096)));
    request.part =
        static_cast<std::size_t>(TRY(whole_number("--part", words[0], 0, request.parts - 1)));
  }
  TRY(read_settings(arguments, request));
  if (!request.read_files.empty()) return request;
  TRY(add_models(arguments, request.products));
  for (const std::string& file : arguments.all("--from")) {
    append(request.products, TRY(products_of_file(file)));
  }
  TRY(add_cells(arguments, request.products));
  return request;
}

}  // namespace assay::cli
