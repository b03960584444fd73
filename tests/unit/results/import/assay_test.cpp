// assay's own records, as its commands print them.
#include <gmock/gmock.h>

#include "results/store/record_json.h"
#include "support/test_record.h"
#include "unit/import_test.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string fingerprint_line = R"({"id":"0123456789abcdef","fingerprint":{}})";

std::string line_of(const Record& record) {
  return to_json(record).dump() + "\n";
}

TEST(ImportAssay, ReadsTheRecordsAfterAFingerprint) {
  const Imported read = imported(fingerprint_line + "\n" + line_of(passed_record("1GiB")) +
                                 line_of(unsupported_record("2GiB", "too little memory")));
  EXPECT_EQ(read.format, "assay");
  ASSERT_EQ(read.records.size(), 2u);
  Record first = passed_record("1GiB");
  first.fingerprint.clear();
  EXPECT_EQ(line_of(read.records[0]), line_of(first));
  EXPECT_EQ(read.records[1].reason, "too little memory");
}

TEST(ImportAssay, SaysWhichLineIsNoRecord) {
  std::string cut = line_of(passed_record("2GiB"));
  cut.insert(cut.size() / 2, "\n");
  const Imported read = imported(line_of(passed_record("1GiB")) + cut + "in between\n");
  EXPECT_EQ(read.records.size(), 1u);
  EXPECT_THAT(read.warnings, ElementsAre("line 2: it is not JSON"));
}

TEST(ImportAssay, AFingerprintAloneIsNoResult) {
  EXPECT_FALSE(import_text({fingerprint_line, "file.txt"}, "").ok());
  const auto named = import_text({fingerprint_line, "file.txt"}, "assay");
  EXPECT_THAT(named.error().message, HasSubstr("file.txt: it contains no record of assay"));
}

}  // namespace
}  // namespace assay
