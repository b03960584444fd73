// assay import as a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/json_lines.h"
#include "e2e/process.h"
#include "results/record/record.h"
#include "unit/import_samples.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class Import : public testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view text) {
    return folder_.write(name, std::string(text));
  }
  std::string store() const { return folder_.path() / "store"; }
  TemporaryFolder folder_;
};

TEST_F(Import, ATableOfWhatWasReadAndWarningsBesideIt) {
  const Outcome outcome =
      assay_run({"import", write("a.log", nccl_sample), write("b.json", vllm_sample)});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "file    format        results  runs  last one                          warnings\n"
            "a.log   nccl-tests          4     1  busbw 0.1900 GB/s\n"
            "b.json  vllm-serving        2     2  output_throughput 17.50 tokens/s         1\n");
  EXPECT_THAT(outcome.err, HasSubstr("b.json: line 1: 1 of 3 replies are empty"));
}

TEST_F(Import, AStoreThatShowCanRead) {
  const std::string file = write("a.log", nccl_sample);
  const Outcome stored = assay_run({"import", file, "--out", store()});
  EXPECT_EQ(stored.status, 0) << stored.err;
  EXPECT_THAT(stored.err, HasSubstr("4 results stored in " + store() + "\n"));
  const Outcome again = assay_run({"import", file, "--out", store()});
  EXPECT_THAT(again.err, HasSubstr("0 results stored in " + store() + "; 4 were already there\n"));
  const Outcome shown = assay_run({"show", store()});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr(" on NVIDIA H100 80GB HBM3, of nccl-tests 2.19.6 in " + file),
                    HasSubstr("collective op=all_reduce dtype=f32 redop=sum ranks=2\n"),
                    HasSubstr("  in     2KiB  10.75 us  0.1900 GB/s  0.1900 GB/s      0  passed\n"),
                    EndsWith("4 cells: 4 passed\n")));
}

TEST_F(Import, AFileWithAnErrorGivesNothingOfIt) {
  const std::string good(vllm_sample.substr(0, vllm_sample.find('\n') + 1));
  const std::string bad = write("bad.json", good + "{\"completed\": 1,\n oops}\n");
  const Outcome alone = assay_run({"import", bad, "--out", store()});
  EXPECT_EQ(alone.status, 2);
  EXPECT_EQ(alone.err, "assay: " + bad + ":3: it is not JSON\n");
  EXPECT_FALSE(std::filesystem::exists(store()));
  const Outcome both = assay_run({"import", bad, write("a.log", nccl_sample), "--out", store()});
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.err, HasSubstr("4 results stored in"));
  EXPECT_EQ(json_lines(Process::read(store() + "/records.jsonl")).size(), 4u);
}

TEST_F(Import, OfAFolderEveryFileIsTriedAndWhatIsUnknownToldInOneLine) {
  write("a.log", nccl_sample);
  write("b.json", "{\"completed\": 1,\n\"request_throughput\": 1, \"mean_ttft_ms\": oops}\n");
  for (const char* name : {"c", "d", "e", "f", "g", "h", "notes.txt"}) write(name, "nothing\n");
  const Outcome outcome = assay_run({"import", folder_.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("a.log"), HasSubstr("b.json  not read"),
                                 Not(HasSubstr("notes.txt"))));
  const std::string folder = folder_.path();
  EXPECT_EQ(outcome.err, "assay: " + folder +
                             ": 7 of 9 files are of no known program: c, d, e, f, g and 2 more\n"
                             "assay: " +
                             folder + "/b.json:2: it is not JSON\n");
  EXPECT_EQ(assay_run({"import", "/nonexistent"}).status, 2);
  // The reason is printed for a file that was named.
  const Outcome named = assay_run({"import", folder + "/notes.txt"});
  EXPECT_EQ(named.status, 2);
  EXPECT_THAT(named.err, HasSubstr("notes.txt: not recognised"));
}

TEST_F(Import, FailedResultsAreNamed) {
  const Outcome outcome = assay_run({"import", write("m.csv", mad_sample)});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("m.csv: failed: mad model=pyt_vllm_llama"));
  EXPECT_THAT(outcome.err, HasSubstr("the run says FAILURE\n"));
}

TEST_F(Import, FormatsThatAreNotThereAreNamed) {
  const Outcome outcome = assay_run({"import", write("a.log", nccl_sample), "--format", "nccl"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(
      outcome.err,
      HasSubstr("unknown format \"nccl\"; there are aiperf, aiperf-csv, assay, babelstream"));
}

TEST_F(Import, RecordsOfEveryFormatAreValidByThePublishedSchema) {
  if (std::system("python3 -c 'import jsonschema' 2>/dev/null") != 0) {
    GTEST_SKIP() << "python3-jsonschema is not installed";
  }
  std::string records;
  for (const auto& [name, text] : import_samples()) {
    const Outcome outcome = assay_run({"import", "--json", write(std::string(name), text)});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_FALSE(outcome.out.empty()) << name;
    records += outcome.out;
  }
  const std::string script =
      write("validate.py",
            "import json, sys, jsonschema\n"
            "validator = jsonschema.Draft7Validator(json.load(open(sys.argv[1])))\n"
            "for line in open(sys.argv[2]):\n"
            "    validator.validate(json.loads(line))\n");
  const std::string command = "python3 " + script +
                              " " ASSAY_SOURCE_DIR "/docs/record.schema.json " +
                              write("records.jsonl", records);
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace assay
