// Statements of SQLite.
#include "core/database.h"

#include <gtest/gtest.h>

#include "core/read_file.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

class DatabaseTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  Result<Database> database_ = Database::open(folder_.path() / "a.sqlite", Database::Access::write);
};

TEST_F(DatabaseTest, AStatementThatFailedTakesNewValues) {
  ASSERT_TRUE(database_.ok()) << database_.error().message;
  ASSERT_TRUE(database_->execute("CREATE TABLE t(id UNIQUE)").ok());
  auto insert = database_->prepare("INSERT INTO t VALUES(?)");
  ASSERT_TRUE(insert.ok());
  EXPECT_TRUE(insert->bind(1, std::int64_t{1}).run().ok());
  EXPECT_FALSE(insert->bind(1, std::int64_t{1}).run().ok());
  EXPECT_TRUE(insert->bind(1, std::int64_t{2}).run().ok());
  EXPECT_EQ(*database_->integer("SELECT sum(id) FROM t"), 3);
}

TEST_F(DatabaseTest, AViewOfTheFileIsRefusedAndATriggerDoesNotRun) {
  ASSERT_TRUE(database_.ok()) << database_.error().message;
  ASSERT_TRUE(
      database_
          ->execute("CREATE TABLE t(id); CREATE VIEW v AS SELECT id FROM t; CREATE TRIGGER g"
                    " AFTER INSERT ON t BEGIN DELETE FROM t; END; INSERT INTO t VALUES(5)")
          .ok());
  EXPECT_EQ(*database_->integer("SELECT count(*) FROM t"), 1);
  const auto read = database_->integer("SELECT count(*) FROM v");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().kind, ErrorKind::usage);
}

TEST_F(DatabaseTest, PagesOfAnotherProgramsFileAreCheckedAsTheyAreRead) {
  ASSERT_TRUE(database_.ok()) << database_.error().message;
  ASSERT_TRUE(
      database_->execute("PRAGMA journal_mode = DELETE; CREATE TABLE t(a); INSERT INTO t VALUES(1)")
          .ok());
  EXPECT_EQ(*database_->integer("PRAGMA cell_size_check"), 0);
  std::string bytes = read_file(folder_.path() / "a.sqlite").value_or("");
  const auto copy = Database::open_bytes(bytes, "a.sqlite");
  ASSERT_TRUE(copy.ok()) << copy.error().message;
  EXPECT_EQ(*copy->integer("SELECT sum(a) FROM t"), 1);
  EXPECT_EQ(*copy->integer("PRAGMA cell_size_check"), 1);
}

TEST_F(DatabaseTest, AMissingTableIsNamedWithTheAdviceOfWhoeverOpensTheFile) {
  const auto path = folder_.path() / "a.sqlite";
  const auto asked = Database::open(path, Database::Access::write, "make it anew");
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  EXPECT_EQ(asked->integer("SELECT count(*) FROM t").error().message,
            path.string() + " is damaged or has other tables (no such table: t); make it anew");
  EXPECT_EQ(database_->integer("SELECT count(*) FROM t").error().message,
            path.string() + " is damaged or has other tables (no such table: t)");
}

}  // namespace
}  // namespace assay
