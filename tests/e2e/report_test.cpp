#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "process.h"
#include "store/store.h"
#include "unit/test_record.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

/// Eight runs of one cell; the name of the folder tells environments apart.
std::string write_store(const fs::path& folder, double seconds) {
  auto store = Store::open(folder);
  for (int i = 0; i < 8; ++i) {
    Record record = passed_record("1GiB", seconds * (1 + 0.001 * (i % 3)));
    record.run = "20260131T12000" + std::to_string(i) + "Z-0001";
    EXPECT_TRUE(store->append(record).ok());
  }
  return folder.string();
}

TEST(Report, WritesAFileByItsEnding) {
  const TemporaryFolder folder;
  const std::string a = write_store(folder.path() / "host", 1e-3);
  const std::string b = write_store(folder.path() / "vm", 1.1e-3);
  const std::string file = folder.path() / "out.html";
  const Outcome html = assay_run({"report", a, b, "-o", file});
  EXPECT_EQ(html.status, 0) << html.err;
  EXPECT_THAT(html.err, HasSubstr("written"));
  const std::string page = Process::read(file);
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr("<h1>host and vm</h1>"));
  EXPECT_THAT(page, HasSubstr("vm is slower than host"));
  // Nothing is left beside it.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 3);

  const Outcome markdown = assay_run({"report", a});
  EXPECT_EQ(markdown.status, 0);
  EXPECT_THAT(markdown.out, StartsWith("# host"));
  const Outcome csv = assay_run({"report", a, b, "--format", "csv", "--title", "T"});
  EXPECT_THAT(csv.out, StartsWith("verdict,cell,"));
}

TEST(Report, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string a = write_store(folder.path() / "host", 1e-3);
  const Outcome format = assay_run({"report", a, "-o", "x.pdf"});
  EXPECT_EQ(format.status, 2);
  EXPECT_THAT(format.err, HasSubstr("no format \"pdf\"; allowed: html, md, csv"));
  const Outcome missing = assay_run({"report", "nowhere"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("nowhere"));
  const Outcome unwritable = assay_run({"report", a, "-o", "/nowhere/x.html"});
  EXPECT_EQ(unwritable.status, 5);
  EXPECT_THAT(unwritable.err, HasSubstr("/nowhere/x.html cannot be written: No such file"));
  const Outcome margin = assay_run({"report", a, a, "--margin", "2"});
  EXPECT_EQ(margin.status, 2);
  EXPECT_THAT(margin.err, HasSubstr("0.1% to 50%"));
}

}  // namespace
}  // namespace assay
