#include "advise/tune/gemm/override_file.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "core/shown_text.h"
#include "core/text.h"
#include "results/import/text_lines.h"

namespace assay {
namespace {

constexpr std::string_view git_line = "Git Version:";
constexpr std::size_t most_columns = 256;  // hipBLASLt writes 60

constexpr std::array<std::string_view, 10> ten_columns = {
    "transA",      "transB",       "batch_count",   "m", "n", "k", "input_type",
    "output_type", "compute_type", "solution_index"};
constexpr std::array<std::string_view, 37> bench_columns = {"transA",
                                                            "transB",
                                                            "grouped_gemm",
                                                            "batch_count",
                                                            "m",
                                                            "n",
                                                            "k",
                                                            "alpha",
                                                            "lda",
                                                            "stride_a",
                                                            "beta",
                                                            "ldb",
                                                            "stride_b",
                                                            "ldc",
                                                            "stride_c",
                                                            "ldd",
                                                            "stride_d",
                                                            "a_type",
                                                            "b_type",
                                                            "c_type",
                                                            "d_type",
                                                            "compute_type",
                                                            "scaleA",
                                                            "scaleB",
                                                            "scaleC",
                                                            "scaleD",
                                                            "amaxD",
                                                            "activation_type",
                                                            "bias_vector",
                                                            "bias_type",
                                                            "rotating_buffer",
                                                            "hipblaslt-Gflops",
                                                            "hipblaslt-GB/s",
                                                            "us",
                                                            "solution_index",
                                                            "solution_name",
                                                            "kernel_name"};

Error damaged(const OverrideRow& row, std::string_view column) {
  return {ErrorKind::usage,
          fmt::format("column {} is \"{}\"", column, shown_line(row.at(column), 60))};
}

/// The whole number in a column; nullopt if the column is absent. Error: usage if it is damaged.
Result<std::optional<std::int64_t>> number_at(const OverrideRow& row, std::string_view column) {
  const std::string_view text = row.at(column);
  if (text.empty()) return std::optional<std::int64_t>();
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return damaged(row, column);
  }
  return std::optional(value);
}

Result<std::int64_t> size_at(const OverrideRow& row, std::string_view column) {
  const auto value = TRY(number_at(row, column));
  if (!value || *value < 1) return damaged(row, column);
  return *value;
}

Result<bool> transposed_at(const OverrideRow& row, std::string_view column) {
  const std::string_view text = row.at(column);
  if (text == "N" || text == "T") return text == "T";
  return damaged(row, column);
}

Result<BlasCall::Scale> scale_at(const OverrideRow& row, std::string_view column) {
  const std::string_view text = row.at(column);
  if (text.empty() || text == "0") return BlasCall::Scale::none;
  if (text == "1") return BlasCall::Scale::tensor;
  if (text == "2") return BlasCall::Scale::rows;
  return damaged(row, column);
}

Status read_types(const OverrideRow& row, BlasCall& call) {
  const auto type_at = [&](std::string_view column,
                           std::string_view otherwise) -> Result<DataType> {
    const std::string_view used = row.at(column).empty() ? otherwise : column;
    const auto type = parse_bench_type(row.at(used));
    if (!type) return damaged(row, used);
    return *type;
  };
  call.a = TRY(type_at("a_type", "input_type"));
  call.b = TRY(type_at("b_type", row.at("a_type").empty() ? "input_type" : "a_type"));
  call.c = TRY(type_at("c_type", "output_type"));
  call.d = TRY(type_at("d_type", row.at("c_type").empty() ? "output_type" : "c_type"));
  const auto compute = parse_bench_compute(row.at("compute_type"));
  if (!compute) return damaged(row, "compute_type");
  call.compute = *compute;
  call.bias = parse_bench_type(row.at("bias_type")).value_or(call.d);
  call.aux = parse_bench_type(row.at("aux_type")).value_or(call.d);
  return {};
}

Status read_epilogue(const OverrideRow& row, BlasCall& call) {
  const bool bias = row.at("bias_vector") == "1";
  const std::string_view activation = row.at("activation_type");
  if (activation.empty() || activation == "none") {
    call.epilogue = bias ? Epilogue::bias : Epilogue::none;
  } else if (activation == "relu") {
    call.epilogue = bias ? Epilogue::relu_bias : Epilogue::relu;
  } else if (activation == "gelu") {
    call.epilogue = bias ? Epilogue::gelu_bias : Epilogue::gelu;
  } else {
    return Error{ErrorKind::unsupported, fmt::format("assay has no products with the activation {}",
                                                     shown_line(activation, 40))};
  }
  return {};
}

/// Whether `text` has characters that the readers of PyTorch and hipBLASLt take for the end of a
/// value or row.
bool breaks_rows(std::string_view text) {
  return text.find_first_of(",\r\n") != std::string_view::npos;
}

std::string joined(const OverrideRow& row, bool names) {
  std::string text;
  for (const auto& [name, value] : row.columns) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", names ? name : value);
  }
  return text;
}

}  // namespace

std::optional<OverrideFormat> parse_override_format(std::string_view name) {
  if (name == "ten") return OverrideFormat::ten;
  if (name == "bench") return OverrideFormat::bench;
  if (name == "named") return OverrideFormat::named;
  return std::nullopt;
}

std::string_view OverrideRow::at(std::string_view column) const {
  for (const auto& [name, value] : columns) {
    if (name == column) return value;
  }
  return {};
}

std::optional<std::int64_t> OverrideRow::solution_index() const {
  const auto index = number_at(*this, "solution_index");
  return index.ok() ? *index : std::nullopt;
}

Result<BlasCall> OverrideRow::call() const {
  BlasCall call;
  call.transpose_a = TRY(transposed_at(*this, "transA"));
  call.transpose_b = TRY(transposed_at(*this, "transB"));
  call.m = TRY(size_at(*this, "m"));
  call.n = TRY(size_at(*this, "n"));
  call.k = TRY(size_at(*this, "k"));
  call.batch = TRY(number_at(*this, "batch_count")).value_or(1);
  const std::pair<std::string_view, std::int64_t*> optional[] = {
      {"lda", &call.lda},           {"ldb", &call.ldb},
      {"ldc", &call.ldc},           {"ldd", &call.ldd},
      {"stride_a", &call.stride_a}, {"stride_b", &call.stride_b},
      {"stride_d", &call.stride_d}, {"lde", &call.lde}};
  for (const auto& [column, place] : optional) {
    *place = TRY(number_at(*this, column)).value_or(0);
    if (*place < 0) return damaged(*this, column);
  }
  TRY(read_types(*this, call));
  call.alpha = parse_number(at("alpha")).value_or(1);
  call.beta = parse_number(at("beta")).value_or(0);
  TRY(read_epilogue(*this, call));
  call.scale_a = TRY(scale_at(*this, "scaleA"));
  call.scale_b = TRY(scale_at(*this, "scaleB"));
  call.scale_d = at("scaleD") == "1";
  call.amax_d = at("amaxD") == "1";
  return call;
}

OverrideFile parse_override(std::string_view text) {
  OverrideFile file;
  std::vector<std::string> header;
  LineReader lines(text);
  for (TextLine line; lines.next(line);) {
    const std::string_view content = trim(line.text);
    if (content.empty()) continue;
    const auto ignore = [&](std::string why) {
      file.ignored.push_back({line.number, std::move(why)});
    };
    if (content.starts_with(git_line)) {
      if (file.git_version.empty()) file.git_version = trim(content.substr(git_line.size()));
      continue;
    }
    const auto values = split_at(content, ',');
    if (values.size() > most_columns) {
      ignore("more than 256 columns");
      continue;
    }
    if (content.find("transA") != std::string_view::npos) {
      header.assign(values.begin(), values.end());
      continue;
    }
    OverrideRow row;
    const auto take = [&](const auto& names) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        row.columns.emplace_back(names[i], values[i]);
      }
    };
    if (!header.empty() && header.size() == values.size()) {
      take(header);
    } else if (values.size() == bench_columns.size()) {
      row.has_header = false;
      take(bench_columns);
    } else if (values.size() == ten_columns.size()) {
      row.has_header = false;
      take(ten_columns);
    } else {
      ignore(fmt::format("{} columns, which no reader takes", values.size()));
      continue;
    }
    if (!row.solution_index()) {
      ignore("no solution's index");
      continue;
    }
    file.rows.push_back(std::move(row));
  }
  return file;
}

std::string text_of(const OverrideFile& file) {
  std::string text;
  if (!file.git_version.empty()) text += fmt::format("{} {}\n", git_line, file.git_version);
  for (const OverrideRow& row : file.rows) {
    // Rows are indented, as hipblaslt-bench writes them.
    if (row.has_header) text += fmt::format("    {}\n", joined(row, true));
    text += fmt::format("{}{}\n", row.has_header ? "    " : "", joined(row, false));
  }
  return text;
}

Result<OverrideRow> override_row(const OverrideWinner& winner, OverrideFormat format) {
  const BlasCall& c = winner.call;
  const bool plain = c.epilogue == Epilogue::none || c.epilogue == Epilogue::bias ||
                     c.epilogue == Epilogue::relu || c.epilogue == Epilogue::relu_bias ||
                     c.epilogue == Epilogue::gelu || c.epilogue == Epilogue::gelu_bias;
  if (!plain) {
    return Error{ErrorKind::unsupported,
                 fmt::format("hipBLASLt's override file has no place for the epilogue {}",
                             name_of(c.epilogue))};
  }
  // Readers of the first two generations reject an index of 0 as damaged.
  const std::int64_t least = format == OverrideFormat::named ? 0 : 1;
  if (winner.index < least) {
    return Error{ErrorKind::unsupported,
                 fmt::format("solution {}: readers of this format take indices from {}",
                             winner.index, least)};
  }
  const auto letter = [](bool transposed) { return transposed ? "T" : "N"; };
  const auto text = [](const auto& value) { return fmt::format("{}", value); };
  OverrideRow row;
  const auto add = [&](std::string_view column, std::string value) {
    row.columns.emplace_back(column, std::move(value));
  };
  add("transA", letter(c.transpose_a));
  add("transB", letter(c.transpose_b));
  if (format == OverrideFormat::ten) {
    row.has_header = false;
    if (c.a != c.b) {
      return Error{ErrorKind::unsupported, "the oldest format has one type for both operands"};
    }
    add("batch_count", text(c.batch));
    add("m", text(c.m));
    add("n", text(c.n));
    add("k", text(c.k));
    add("input_type", text(bench_name(c.a)));
    add("output_type", text(bench_name(c.c)));
    add("compute_type", text(bench_compute_name(c.compute)));
    add("solution_index", text(winner.index));
    return row;
  }
  const auto given = [](std::int64_t value, std::int64_t dense) {
    return value > 0 ? value : dense;
  };
  const std::int64_t lda = given(c.lda, c.transpose_a ? c.k : c.m),
                     ldb = given(c.ldb, c.transpose_b ? c.n : c.k), ldc = given(c.ldc, c.m),
                     ldd = given(c.ldd, c.m);
  const std::int64_t stride_d = given(c.stride_d, ldd * c.n);
  const bool bias = reads_bias(c.epilogue);
  const bool relu = c.epilogue == Epilogue::relu || c.epilogue == Epilogue::relu_bias;
  const bool gelu = c.epilogue == Epilogue::gelu || c.epilogue == Epilogue::gelu_bias;
  const double flops = 2.0 * double(c.m) * double(c.n) * double(c.k) * double(c.batch);
  const double bytes =
      double(c.batch) * (double(c.m) * double(c.k) * double(size_of(c.a)) +
                         double(c.k) * double(c.n) * double(size_of(c.b)) +
                         double(c.m) * double(c.n) * double(size_of(c.d)) * (c.beta != 0 ? 2 : 1));
  add("grouped_gemm", "0");
  add("batch_count", text(c.batch));
  add("m", text(c.m));
  add("n", text(c.n));
  add("k", text(c.k));
  add("alpha", text(c.alpha));
  add("lda", text(lda));
  add("stride_a", text(given(c.stride_a, lda * (c.transpose_a ? c.m : c.k))));
  add("beta", text(c.beta));
  add("ldb", text(ldb));
  add("stride_b", text(given(c.stride_b, ldb * (c.transpose_b ? c.k : c.n))));
  add("ldc", text(ldc));
  add("stride_c", text(stride_d));
  add("ldd", text(ldd));
  add("stride_d", text(stride_d));
  for (const auto& [column, type] :
       {std::pair("a_type", c.a), {"b_type", c.b}, {"c_type", c.c}, {"d_type", c.d}}) {
    add(column, text(bench_name(type)));
  }
  add("compute_type", text(bench_compute_name(c.compute)));
  add("scaleA", text(static_cast<int>(c.scale_a)));
  add("scaleB", text(static_cast<int>(c.scale_b)));
  add("scaleC", "0");
  add("scaleD", c.scale_d ? "1" : "0");
  add("amaxD", c.amax_d ? "1" : "0");
  add("activation_type", relu ? "relu" : gelu ? "gelu" : "none");
  add("bias_vector", bias ? "1" : "0");
  add("bias_type", text(bench_name(bias ? c.bias : DataType::f32)));
  add("rotating_buffer", text(winner.rotating_bytes >> 20));
  add("hipblaslt-Gflops", fmt::format("{:.6g}", flops / winner.seconds * 1e-9));
  add("hipblaslt-GB/s", fmt::format("{:.6g}", bytes / winner.seconds * 1e-9));
  add("us", fmt::format("{:.6g}", winner.seconds * 1e6));
  add("solution_index", text(winner.index));
  const auto safe = [](const std::string& name) { return breaks_rows(name) ? "" : name; };
  add("solution_name", safe(winner.solution_name));
  // Readers of the 37 columns lose an empty last column.
  const std::string kernel = safe(winner.kernel_name);
  add("kernel_name", kernel.empty() && format == OverrideFormat::bench ? "-" : kernel);
  if (format == OverrideFormat::named) {
    add("gcnArchName", safe(winner.arch));
    add("CUs", text(winner.multiprocessors));
  }
  return row;
}

std::string misfit(const OverrideFile& file, const OverrideRow& row, const OverrideFacts& here) {
  const std::string_view arch = row.at("gcnArchName"), units = row.at("CUs");
  if (!arch.empty() && arch != here.arch) {
    return fmt::format("it is for {}, this device is {}", shown_line(arch, 60), here.arch);
  }
  if (!units.empty() && units != "0" && units != std::to_string(here.multiprocessors)) {
    return fmt::format("it is for {} compute units, this device has {}", shown_line(units, 20),
                       here.multiprocessors);
  }
  const auto index = row.solution_index();
  if (!index || *index < 0) return "it names no solution";
  // Names are checked by the library itself, and the ten columns have nothing that could be
  // checked.
  const bool named = !row.at("kernel_name").empty() || !row.at("solution_name").empty();
  if ((row.has_header && named) || row.columns.size() == ten_columns.size()) return {};
  if (file.git_version.empty()) return "the file has no line \"Git Version:\"";
  if (file.git_version != here.git_version) {
    return fmt::format("it is for hipBLASLt {}, here is {}", shown_line(file.git_version, 60),
                       here.git_version);
  }
  return {};
}

}  // namespace assay
