#include "results/import/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "core/units.h"
#include "results/import/text_lines.h"

namespace assay {
namespace {

struct Name {
  std::string_view key;  // lower case, no underscores, no "perf"
  std::string_view name;
};
constexpr std::array<Name, 12> operations = {{{"allreduce", "all_reduce"},
                                              {"allreducebias", "all_reduce_bias"},
                                              {"allgather", "all_gather"},
                                              {"reducescatter", "reduce_scatter"},
                                              {"broadcast", "broadcast"},
                                              {"reduce", "reduce"},
                                              {"alltoall", "all_to_all"},
                                              {"alltoallv", "all_to_allv"},
                                              {"sendrecv", "send_recv"},
                                              {"gather", "gather"},
                                              {"scatter", "scatter"},
                                              {"hypercube", "hypercube"}}};

struct Type {
  std::string_view key;
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<Type, 19> types = {{{"float", "f32", 4},
                                         {"half", "f16", 2},
                                         {"double", "f64", 8},
                                         {"bfloat16", "bf16", 2},
                                         {"int8", "i8", 1},
                                         {"uint8", "u8", 1},
                                         {"char", "i8", 1},
                                         {"int32", "i32", 4},
                                         {"int", "i32", 4},
                                         {"uint32", "u32", 4},
                                         {"int64", "i64", 8},
                                         {"uint64", "u64", 8},
                                         {"f8e4m3", "e4m3", 1},
                                         {"f8e5m2", "e5m2", 1},
                                         {"fp8_e4m3", "e4m3", 1},
                                         {"fp8_e5m2", "e5m2", 1},
                                         {"float16", "f16", 2},
                                         {"float32", "f32", 4},
                                         {"float64", "f64", 8}}};

bool not_available(std::string_view text) {
  const std::string lower = lower_case(text);
  return lower.empty() || lower == "n/a" || lower == "nan" || lower == "-nan" || lower == "null";
}

/// #wrong counts elements; the older error column has the largest difference, with a star if it is
/// above the threshold.
void judge(Record& record, const CollectiveRow& row) {
  if (const auto count = parse_number(row.wrong)) {
    record.metrics.push_back(metric("wrong", *count, "1", Better::neither, row.wrong));
    if (*count > 0) {
      record.status = RecordStatus::failed;
      record.reason = fmt::format("{} wrong elements", row.wrong);
    }
  }
  if (!not_available(row.error)) note(record, "error", row.error);
  if (row.error.ends_with('*')) {
    record.status = RecordStatus::failed;
    record.reason = fmt::format("error {} is above the threshold", row.error);
  }
}

}  // namespace

std::string_view collective_name(std::string_view text) {
  std::string key = lower_case(text);
  if (key.ends_with("_perf")) key.resize(key.size() - 5);
  key.erase(std::remove_if(key.begin(), key.end(),
                           [](char letter) { return letter == '_' || letter == '-'; }),
            key.end());
  for (const Name& operation : operations) {
    if (operation.key == key) return operation.name;
  }
  return {};
}

std::string_view collective_type(std::string_view text) {
  for (const Type& type : types) {
    if (type.key == text) return type.name;
  }
  return {};
}

std::uint64_t collective_type_bytes(std::string_view type) {
  for (const Type& candidate : types) {
    if (candidate.name == type) return candidate.bytes;
  }
  return 1;
}

Record* add_collective(Draft& draft, const CollectiveRow& row, std::size_t line, bool fnuz) {
  const bool absent = not_available(row.time) && not_available(row.busbw);
  const auto time = parse_number(row.time);
  const auto algbw = parse_number(row.algbw);
  const auto busbw = parse_number(row.busbw);
  if (!absent && (!time || !algbw || !busbw)) return nullptr;
  std::string type(collective_type(row.type));
  if (fnuz && (type == "e4m3" || type == "e5m2")) type += "_fnuz";
  std::vector<std::pair<std::string, std::string>> axes = {
      {"op", row.op.empty() ? "unknown" : row.op},
      {"dtype", type.empty() ? row.type : type},
      {"redop", row.redop.empty() ? "none" : row.redop},
      {"place", row.place}};
  if (!row.root.empty() && row.root != "-1") axes.emplace_back("root", row.root);
  if (row.ranks > 0) axes.emplace_back("ranks", fmt::format("{}", row.ranks));
  if (row.cpu_time) axes.emplace_back("timing", "cpu");
  axes.emplace_back("size", format_size(row.size));
  Record& record = draft.add(Cell("collective", std::move(axes)), line);
  if (absent) {
    record.status = RecordStatus::unsupported;
    record.reason = "the program reports N/A";
    return &record;
  }
  // 0.00 is what remains of a small rate after rounding: kept as evidence, but not comparable.
  const auto rate = [&](const char* name, double value, std::string_view text) {
    return metric(name, value * 1e9, "bytes/s", value == 0 ? Better::neither : Better::higher,
                  text);
  };
  record.metrics = {rate("busbw", *busbw, row.busbw), rate("algbw", *algbw, row.algbw),
                    metric("time", *time / 1e6, "s", Better::lower, row.time)};
  judge(record, row);
  return &record;
}

}  // namespace assay
