// Damaged, hostile and huge texts: every importer must return, and what it returns must be sound.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "core/json.h"
#include "results/store/record_json.h"
#include "support/sound_import.h"
#include "unit/import_samples.h"
#include "unit/import_test.h"

namespace assay {
namespace {

using testing::HasSubstr;

class EveryImporter : public testing::TestWithParam<std::pair<std::string_view, std::string_view>> {
 protected:
  static Result<Imported> read(std::string_view text) {
    return import_text({text, "file.txt"}, GetParam().first);
  }
};

TEST_P(EveryImporter, TextsCutAtEveryLength) {
  const std::string_view text = GetParam().second;
  for (std::size_t length = 0; length < text.size(); ++length) {
    expect_sound(read(text.substr(0, length)), fmt::format("cut after {} bytes", length));
  }
}

TEST_P(EveryImporter, TextsWithBytesFlippedAndPiecesExchanged) {
  const std::string text(GetParam().second);
  std::mt19937 random(42);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  for (int round = 0; round < 600; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 1 + round % 8; ++i) {
      damaged[below(damaged.size())] = static_cast<char>(below(256));
    }
    if (round % 3 == 0) {  // a piece of the text is copied elsewhere
      const std::size_t from = below(text.size()), length = below(80);
      damaged.insert(below(damaged.size()), text, from, length);
    }
    if (round % 5 == 0) damaged.erase(below(damaged.size()), below(60));
    expect_sound(read(damaged), fmt::format("round {}", round));
  }
}

TEST_P(EveryImporter, OtherProgramsTexts) {
  for (const auto& [name, text] : import_samples()) {
    expect_sound(read(text), std::string(name));
  }
  std::string binary(4096, '\0');
  std::mt19937 random(7);
  for (char& byte : binary) byte = static_cast<char>(random());
  expect_sound(read(binary), "binary");
  expect_sound(read(std::string(100'000, '\n')), "line ends");
  expect_sound(read(std::string(100'000, '[')), "deep JSON");
  expect_sound(read("{\"a\":" + std::string(100'000, '9') + "}"), "a long number");
}

TEST_P(EveryImporter, WindowsLineEndsAndAByteOrderMarkChangeNothing) {
  std::string windows = "\xef\xbb\xbf";
  for (const char letter : GetParam().second)
    windows += letter == '\n' ? "\r\n" : std::string(1, letter);
  const auto plain = read(GetParam().second);
  const auto other = read(windows);
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  ASSERT_TRUE(other.ok()) << other.error().message;
  ASSERT_EQ(plain->records.size(), other->records.size());
  for (std::size_t i = 0; i < plain->records.size(); ++i) {
    Json a = to_json(plain->records[i]), b = to_json(other->records[i]);
    a.erase("run");  // a hash of the file's content
    b.erase("run");
    EXPECT_EQ(a, b);
  }
}

TEST_P(EveryImporter, IsSurestOfItsOwnText) {
  const auto result = import_text({GetParam().second, "file.txt"}, "");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->format, GetParam().first);
}

INSTANTIATE_TEST_SUITE_P(Import, EveryImporter, testing::ValuesIn(import_samples()),
                         [](const auto& test) {
                           std::string name(test.param.first);
                           std::erase(name, '-');
                           return name;
                         });

TEST(Import, EveryImporterHasASample) {
  std::vector<std::string_view> named, sampled;
  for (const Importer* importer : importers()) named.push_back(importer->name());
  for (const auto& [name, text] : import_samples()) sampled.push_back(name);
  EXPECT_EQ(named, sampled);
}

TEST(Import, UnknownTextsAndFormatsNameWhatThereIs) {
  const auto unknown = import_text({"hello\n", "x.txt"}, "");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("x.txt: not recognised"));
  EXPECT_THAT(unknown.error().message, HasSubstr("`assay help import` says which"));
  const auto format = import_text({nccl_sample, "x.txt"}, "nccl");
  ASSERT_FALSE(format.ok());
  EXPECT_THAT(format.error().message, HasSubstr("unknown format \"nccl\"; there are aiperf"));
}

TEST(Import, ATextOfTwoProgramsMustBeNamed) {
  const std::string both = std::string(perftest_sample) + std::string(transferbench_sample);
  const auto result = import_text({both, "x.log"}, "");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(
      result.error().message,
      HasSubstr("x.log: may be a result of perftest or of transferbench; name it with `assay "
                "import --input-format`"));
  EXPECT_TRUE(import_text({both, "x.log"}, "perftest").ok());
}

TEST(Import, ImpossibleNumbersAreNotResults) {
  const Imported negative = imported(
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 8\n"
      "1024 256 float sum -1 10.5 0.10 -0.10 0 10.2 1e999 0.10 0\n");
  ASSERT_EQ(negative.records.size(), 1u);
  EXPECT_EQ(negative.records[0].status, RecordStatus::failed);
  EXPECT_EQ(negative.records[0].reason, "busbw is negative: -0.10");
  ASSERT_EQ(negative.warnings.size(), 1u);
  EXPECT_THAT(negative.warnings[0], HasSubstr("line 2: its in-of-place values are not numbers"));
}

TEST(Import, AFileWithTooManyResultsIsAnErrorAndNotReadToItsEnd) {
  std::string text =
      "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,"
      "avg_runtime\n";
  for (int i = 0; i < 250'001; ++i) text += "Copy,1,8,8,1.5,1,1,1\n";
  const std::string no_row = "Copy,1,many,8,1.5,1,1,1\n";
  const auto result = import_text({text + no_row, "many.csv"}, "");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "many.csv: it holds more than 250000 results; split it");
}

TEST(Import, FilesThatCannotBeReadAreErrors) {
  const auto missing = import_file("/nonexistent/file", "");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("cannot read /nonexistent/file"));
  EXPECT_FALSE(import_file("/dev/zero", "").ok());
}

TEST(Import, JsonErrorsNameTheirLine) {
  const auto result = import_text(
      {"{\"request_throughput\": 1,\n\"mean_ttft_ms\": oops}", "a.json"}, "vllm-serving");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("a.json:2: it is not JSON"));
  const auto second =
      import_text({"{\"completed\": 1}\n\n{\"completed\": \n 1,}\n", "b.json"}, "vllm-serving");
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("b.json:4: it is not JSON"));
}

TEST(Import, TheSameContentIsTheSameRun) {
  const Imported one = imported(nccl_sample, "a.log"), two = imported(nccl_sample, "b.log");
  EXPECT_EQ(one.records[0].run, two.records[0].run);
  EXPECT_NE(one.records[0].run, imported(std::string(nccl_sample) + "\n", "a.log").records[0].run);
}

}  // namespace
}  // namespace assay
