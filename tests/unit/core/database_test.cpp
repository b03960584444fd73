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

/// SQLite's file format: the second page is that of the only table. After 8 bytes of its header come
/// the places of its rows, 2 bytes each.
TEST_F(DatabaseTest, ARowThatReachesBeyondItsPageIsDamage) {
  ASSERT_TRUE(database_.ok()) << database_.error().message;
  ASSERT_TRUE(database_
                  ->execute("PRAGMA page_size = 4096; PRAGMA journal_mode = DELETE; CREATE TABLE "
                            "t(a, b); INSERT INTO t VALUES(1, 'one'), (2, 'two')")
                  .ok());
  std::string bytes = read_file(folder_.path() / "a.sqlite").value_or("");
  ASSERT_EQ(bytes.size(), 8192u);
  const auto sum = [&]() -> Result<std::int64_t> {
    const auto copy = Database::open_bytes(bytes, "a.sqlite");
    if (!copy.ok()) return copy.error();
    return copy->integer("SELECT sum(a) FROM t");
  };
  EXPECT_EQ(*sum(), 3);
  bytes[4096 + 8 + 2] = '\x0f';  // the second row is 3 bytes before the end
  bytes[4096 + 8 + 3] = '\xfd';
  const auto damaged = sum();
  ASSERT_FALSE(damaged.ok()) << *damaged;
  EXPECT_NE(damaged.error().message.find("malformed"), std::string::npos)
      << damaged.error().message;
}

}  // namespace
}  // namespace assay
