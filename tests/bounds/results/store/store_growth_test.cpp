// What commands cost that read stores: no more than n log n, whatever grows.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

#include "core/json.h"
#include "core/secrets.h"
#include "e2e/process.h"
#include "results/record/record.h"
#include "results/store/record_json.h"

namespace assay {
namespace {

/// A small record of a run.
Record record_of(int run, std::string benchmark, const std::string& op) {
  Record record;
  record.run = fmt::format("r{}", run);
  record.time = fmt::format("2026-01-01T00:00:{:08}Z", run);
  record.cell = Cell(std::move(benchmark), {{"op", op}, {"size", "1GiB"}});
  record.device.backend = "other";
  record.status = RecordStatus::passed;
  record.value = Value{Quantity::bandwidth, 1e9 + run, {0.9e9, 1.1e9}, {}, {}};
  record.verification = Verification{true, "all", 0, 0, ""};
  record.fingerprint = "f";
  return record;
}

std::string line_of(const Record& record) {
  return to_json(record).dump() + "\n";
}

/// A store in which one thing occurs `count` times.
struct Shape {
  const char* name;
  std::function<std::string(int i)> line;  ///< number i of them, in records.jsonl
  std::function<std::string(int i)> fingerprint = nullptr;
  friend void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }
};

const Shape shapes[] = {
    {"runs", [](int i) { return line_of(record_of(i, "memory", "copy")); }},
    {"cells",
     [](int i) { return line_of(record_of(i % 2, "memory", fmt::format("op{}", i / 2))); }},
    {"benchmarks", [](int i) { return line_of(record_of(0, fmt::format("b{}", i), "copy")); }},
    {"reasons",
     [](int i) {
       Record record = record_of(0, "memory", "copy");
       record.status = RecordStatus::error;
       record.value.reset();
       record.reason = fmt::format("reason {}", i);
       return line_of(record);
     }},
    {"faults",
     [](int i) {
       Record record = record_of(0, "memory", fmt::format("op{}", i));
       record.verification.reset();
       return line_of(record);
     }},
    {"metrics",
     [](int i) {
       Record record = record_of(0, "memory", "copy");
       record.value.reset();
       record.metrics = {{fmt::format("m{}", i), 1, "s", Better::lower, "", {}}};
       record.source = Source{.tool = "t", .version = "", .file = "f"};
       return line_of(record);
     }},
    {"damaged lines",
     [](int i) {
       return i == 0 ? line_of(record_of(0, "memory", "copy")) : fmt::format("{}\n", i);
     }},
    {"fingerprints",
     [](int i) {
       Record record = record_of(i, "memory", "copy");
       record.fingerprint = fmt::format("f{}", i);
       return line_of(record);
     },
     [](int i) { return fmt::format("{{\"id\":\"f{0}\",\"fingerprint\":{{\"n\":{0}}}}}\n", i); }},
};

void write_store(const TemporaryFolder& folder, const std::string& name, const Shape& shape,
                 int count) {
  std::string records, fingerprints;
  for (int i = 0; i < count; ++i) {
    records += shape.line(i);
    if (shape.fingerprint) fingerprints += shape.fingerprint(i);
  }
  folder.write(name + "/records.jsonl", records);
  folder.write(name + "/fingerprints.jsonl", fingerprints);
}

class StoreGrowth : public testing::TestWithParam<Shape> {};

/// Four times as much takes somewhat more than four times as long; what grows with the square takes
/// sixteen times. The seconds are the processes' own: other programs do not count.
TEST_P(StoreGrowth, IsNotQuadratic) {
  constexpr int few = 5'000;
  constexpr double most_growth = 7, most_seconds_of_any = 0.3;
  const TemporaryFolder folder;
  write_store(folder, "few", GetParam(), few);
  write_store(folder, "many", GetParam(), 4 * few);
  const std::vector<std::vector<std::string>> commands = {
      {"show", "STORE"}, {"report", "STORE", "--format", "md"}, {"compare", "STORE", "STORE"}};
  for (const std::vector<std::string>& command : commands) {
    const auto seconds = [&](const char* store) {
      std::vector<std::string> words = command;
      for (std::string& word : words) {
        if (word == "STORE") word = folder.path() / store;
      }
      const Outcome outcome = assay_run(words);
      EXPECT_THAT(outcome.status, testing::AnyOf(0, 1, 3, 6)) << outcome.err.substr(0, 500);
      return outcome.cpu_seconds;
    };
    const double before = seconds("few"), after = seconds("many");
    EXPECT_LT(after, most_growth * before + most_seconds_of_any) << command[0];
  }
}

INSTANTIATE_TEST_SUITE_P(Of, StoreGrowth, testing::ValuesIn(shapes),
                         [](const testing::TestParamInfo<Shape>& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

/// A thing of which a store holds hundred thousands: seldom members lie elsewhere.
TEST(RecordSize, IsSmall) {
  EXPECT_LE(sizeof(Record), 700u);
}

/// Nothing is searched again for each of many.
TEST(SecretsGrowth, ALongTextIsSearchedOnce) {
  constexpr double most_seconds = 5;  // each takes a tenth of a second, the square minutes
  for (const char* part :
       {"a@", "://a", "://a:b", "a=", "a:b@", "PW=", "?", "'", "Bearer ", "b,"}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += part;
    const std::clock_t begin = std::clock();
    hide_secrets_in(text);
    hide_secrets(std::vector{text});
    EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, most_seconds) << part;
  }
}

}  // namespace
}  // namespace assay
