// --price of commands that show tokens/s: costs are shown and never stored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "core/read_file.h"
#include "e2e/process.h"
#include "results/store/store.h"
#include "support/test_record.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Eight runs of a training on two devices, 1000 tokens/s together: at 3.60 an hour, $2 a million.
std::string write_training(const std::filesystem::path& folder, double rate) {
  auto store = Store::open(folder);
  for (int i = 0; i < 8; ++i) {
    Record record = passed_record("1GiB", 1);
    record.run = "20260131T12000" + std::to_string(i) + "Z-0001";
    record.cell = Cell("train", {{"model", "124M"}, {"ranks", "2"}, {"steps", "1000"}});
    record.value = Value{Quantity::token_rate, rate, {rate, rate}, {}, {}};
    record.metrics = {{"step_time", 1.8, "s", Better::neither, {}}};
    EXPECT_TRUE(store->append(record).ok());
  }
  return folder.string();
}

TEST(Price, AddsCostsToWhatIsShownAndStoresNone) {
  const TemporaryFolder folder;
  const std::string a = write_training(folder.path() / "a", 1000);
  const std::string b = write_training(folder.path() / "b", 500);
  const std::string before = Process::read(a + "/records.jsonl");
  const Outcome show = assay_run({"show", a, "--run", "last", "--price", "3.6"});
  EXPECT_THAT(show.out, AllOf(HasSubstr("cost_per_million_tokens"), HasSubstr("$2"),
                              HasSubstr("cost_of_run"), HasSubstr("$3.6")));
  const Json json =
      Json::parse(assay_run({"show", a, "--run", "last", "--price", "3.6", "--json"}).out);
  EXPECT_EQ(json["metrics"][1]["name"], "cost_per_million_tokens");
  EXPECT_EQ(json["metrics"][1]["value"], 2);
  EXPECT_EQ(json["metrics"][1]["unit"], "$");
  EXPECT_THAT(assay_run({"show", a}).out, Not(HasSubstr("cost")));
  const Outcome compared = assay_run({"compare", a, b, "--price", "3.6"});
  EXPECT_THAT(compared.out, AllOf(HasSubstr("cost_per_million_tokens"), HasSubstr("$2.000"),
                                  HasSubstr("$4.000"), HasSubstr("+100.0%")));
  const Outcome page = assay_run({"report", a, "--price", "3.6"});
  EXPECT_THAT(page.out, HasSubstr("$ per million tokens"));
  EXPECT_THAT(assay_run({"report", a}).out, Not(HasSubstr("$ per million")));
  EXPECT_EQ(Process::read(a + "/records.jsonl"), before);
}

TEST(Price, MustBeANumberAboveZero) {
  for (const char* price : {"0", "-1", "nan"}) {
    for (const char* command : {"show", "compare", "report", "run", "load"}) {
      std::vector<std::string> words = {command, "--price", price};
      if (std::string(command) == "compare") words.insert(words.end(), {"a", "b"});
      if (std::string(command) == "load")
        words.insert(words.end(), {"--url", "http://127.0.0.1:1", "--max-concurrency", "1"});
      if (std::string(command) == "run") words.insert(words.end(), {"train", "--dry-run"});
      if (std::string(command) == "show") words.emplace_back("/");
      const Outcome outcome = assay_run(words);
      EXPECT_EQ(outcome.status, 2) << command;
      EXPECT_THAT(outcome.err, HasSubstr("is not allowed; allowed: a number above 0")) << command;
    }
  }
}

}  // namespace
}  // namespace assay
