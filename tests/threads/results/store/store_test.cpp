#include "results/store/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>

#include "core/file_lock.h"
#include "core/json.h"
#include "results/store/record_json.h"
#include "results/store/stored_fingerprint.h"
#include "support/temporary_folder.h"
#include "support/test_record.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void append_raw(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

std::vector<std::string> sizes(const StoredRecords& stored) {
  std::vector<std::string> sizes;
  for (const Record& record : stored.records) sizes.emplace_back(record.cell.text("size"));
  return sizes;
}

TEST(Store, WhatIsAppendedIsReadBackInOrder) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a" / "b";  // created where they are missing
  auto store = Store::open(path);
  ASSERT_TRUE(store.ok()) << store.error().message;
  ASSERT_TRUE(store->append(passed_record("1MiB")).ok());
  ASSERT_TRUE(store->append(unsupported_record("1TiB", "too large")).ok());
  const auto stored = read_records(path);
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  EXPECT_THAT(sizes(*stored), ElementsAre("1MiB", "1TiB"));
  EXPECT_THAT(stored->problems, IsEmpty());
  EXPECT_EQ(read_records(path / "records.jsonl")->records.size(), 2u);
}

TEST(Store, ALinkIsNotFollowed) {
  const TemporaryFolder folder;
  const auto victim = folder.write("victim.txt", "first\nlast without newline");
  for (const char* name : {"records.jsonl", "fingerprints.jsonl"}) {
    const auto path = folder.path() / name;
    std::filesystem::create_directory(path);
    std::filesystem::create_symlink(victim, path / name);
    auto store = Store::open(path);
    Status written = store.ok() ? Status() : Status(store.error());
    if (store.ok()) {
      const auto id = store->append_fingerprint(Json({{"a", 1}}));
      if (!id.ok()) written = id.error();
    }
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().kind, ErrorKind::file);
    EXPECT_THAT(written.error().message, HasSubstr(std::string(name) + ": it is a link"));
    std::filesystem::remove_all(path);
  }
  EXPECT_EQ(contents(victim), "first\nlast without newline");
}

TEST(Store, ARecordHasAFewAxes) {
  const TemporaryFolder folder;
  for (const int axes : {128, 129, 3000}) {
    std::vector<std::pair<std::string, std::string>> values;
    for (int i = 0; i < axes; ++i) values.emplace_back("a" + std::to_string(i), "1");
    Record record = passed_record();
    record.cell = Cell("memory", std::move(values));
    append_raw(folder.path() / "records.jsonl", to_json(record).dump() + "\n");
  }
  for (const Detail detail : {Detail::whole, Detail::summary}) {
    const auto stored = read_records(folder.path(), detail);
    ASSERT_TRUE(stored.ok());
    EXPECT_EQ(stored->records.size(), 1u);
    EXPECT_THAT(stored->problems,
                ElementsAre("records.jsonl:2: field axes has 129; at most 128 are allowed, ignored",
                            "records.jsonl:3: one of its JSON's objects has more than 2000 "
                            "members, ignored"));
  }
}

TEST(Store, SeveralRecordsAreAppendedAtOnce) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  ASSERT_TRUE(store->append(passed_record("1MiB")).ok());
  const std::vector<Record> records = {passed_record("2MiB"), passed_record("4MiB")};
  ASSERT_TRUE(store->append(records).ok());
  ASSERT_TRUE(store->append(std::span<const Record>()).ok());
  const auto stored = read_records(folder.path());
  EXPECT_THAT(sizes(*stored), ElementsAre("1MiB", "2MiB", "4MiB"));
  EXPECT_THAT(stored->problems, IsEmpty());
}

TEST(Store, WhatSeveralAddAtOnceIsThereOnce) {
  const TemporaryFolder folder;
  std::vector<Record> records;
  for (int i = 0; i < 16; ++i) records.push_back(passed_record(std::to_string(i + 1) + "MiB"));
  records.push_back(records.front());  // a repetition of the same cell is a record, too
  std::array<std::size_t, 6> added = {};
  std::vector<std::thread> writers;
  for (std::size_t& count : added) {
    writers.emplace_back([&folder, &records, &count] {
      auto store = Store::open(folder.path());
      const auto appended = store->append_new({records});
      if (appended.ok()) count = *appended;
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(std::accumulate(added.begin(), added.end(), std::size_t{0}), records.size());
  EXPECT_EQ(read_records(folder.path())->records.size(), records.size());
}

TEST(Store, OfARunThatIsThereInPartTheRestIsAdded) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  const std::vector<Record> first = {passed_record("1MiB"), passed_record("2MiB")};
  const std::vector<Record> more = {passed_record("2MiB"), passed_record("4MiB")};
  EXPECT_EQ(store->append_new({first}).value(), 2u);
  EXPECT_EQ(store->append_new({more, more}).value(), 1u);
  // Another version of assay makes other cells of a file.
  std::vector<Record> file(2);
  for (Record& record : file) {
    record.run = "nccl-tests-1";
    record.cell = passed_record(&record == file.data() ? "8MiB" : "16MiB").cell;
    record.device.backend = "other";
    record.status = RecordStatus::passed;
    record.metrics = {Metric{"busbw", 1e9, "bytes/s", Better::higher, "1"}};
    record.source = Source{.tool = "nccl-tests", .version = {}, .file = "a.log", .line = 7};
  }
  EXPECT_EQ(store->append_new({file}).value(), 2u);
  file[0].cell = passed_record("32MiB").cell;
  EXPECT_EQ(store->append_new({file}).value(), 0u);
  EXPECT_THAT(sizes(*read_records(folder.path())),
              ElementsAre("1MiB", "2MiB", "4MiB", "8MiB", "16MiB"));
}

/// The store is read before it is locked; whoever has locked it meanwhile may have changed it.
TEST(Store, WhatChangesBeforeTheLockIsHeldIsReadAgain) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "records.jsonl";
  auto store = Store::open(folder.path());
  ASSERT_TRUE(store->append(passed_record("1MiB")).ok());
  const std::string one = contents(file);
  ASSERT_TRUE(store->append(passed_record("2MiB")).ok());
  const std::string two = contents(file).substr(one.size());
  std::string four = two;
  four.replace(four.find("2MiB"), 4, "4MiB");
  std::atomic<bool> waits = false;
  lock_notice() = [&](const std::string&) { waits = true; };
  // The lines of the store when it is locked: some were added, some replaced.
  for (const auto& [lines, expected] :
       {std::pair{one + two + four, 1u}, {one + four, 2u}, {four + one, 2u}, {one, 3u}}) {
    std::ofstream(file, std::ios::binary) << one << two;
    const int other = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(other, LOCK_EX), 0);
    waits = false;
    std::thread changes([&] {
      while (!waits) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::ofstream(file, std::ios::binary) << lines;
      ::close(other);
    });
    EXPECT_EQ(store
                  ->append_new({{passed_record("1MiB"), passed_record("2MiB"),
                                 passed_record("4MiB"), passed_record("8MiB")}})
                  .value(),
              expected);
    changes.join();
    EXPECT_THAT(sizes(*read_records(folder.path())),
                testing::UnorderedElementsAre("1MiB", "2MiB", "4MiB", "8MiB"));
  }
  lock_notice() = nullptr;
}

TEST(Store, ImportedRunsHaveNoFingerprint) {
  const TemporaryFolder folder;
  Record record = passed_record("1MiB");
  record.fingerprint.clear();
  ASSERT_TRUE(Store::open(folder.path())->append(record).ok());
  const auto last = read_stored_fingerprint(folder.path(), "");
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().message, folder.path().string() +
                                      " holds no fingerprint: results of other programs come "
                                      "without one");
  EXPECT_THAT(read_stored_fingerprint(folder.path(), record.run).error().message,
              HasSubstr("holds no fingerprint of run " + record.run));
  EXPECT_THAT(read_stored_fingerprint(folder.path(), "other").error().message,
              HasSubstr("holds no run other"));
}

TEST(Store, VeryManyRecordsAreAppendedInPieces) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  ASSERT_TRUE(store.ok()) << store.error().message;
  std::vector<Record> records;
  for (int i = 0; i < 30; ++i) {
    records.push_back(passed_record());
    records.back().run = std::to_string(i);
    records.back().reason = std::string(100'000, 'x');  // three pieces of about a MiB in all
  }
  ASSERT_TRUE(store->append(records).ok());
  const auto stored = read_records(folder.path());
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  EXPECT_THAT(stored->problems, IsEmpty());
  ASSERT_EQ(stored->records.size(), records.size());
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(stored->records[static_cast<std::size_t>(i)].run, std::to_string(i));
  }
}

TEST(Store, InSummaryEveryRecordKeepsItsOwnDevice) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  ASSERT_TRUE(store.ok()) << store.error().message;
  for (const char* name : {"first", "first", "second", "first"}) {
    Record record = passed_record();
    record.device.name = name;
    ASSERT_TRUE(store->append(record).ok());
  }
  const auto stored = read_records(folder.path(), Detail::summary);
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  ASSERT_EQ(stored->records.size(), 4u);
  std::vector<std::string> names;
  for (const Record& record : stored->records) {
    names.push_back(record.device.name);
    EXPECT_EQ(record.device.memory_bytes, 1u << 30);
    EXPECT_FALSE(record.telemetry);
    EXPECT_TRUE(record.samples && record.verification) << "what tells whether it is evidence";
    EXPECT_DOUBLE_EQ(record.value->median, passed_record().value->median);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"first", "first", "second", "first"}));
}

TEST(Store, ATornLastLineIsIgnoredByReadersAndCutByWriters) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "records.jsonl";
  { ASSERT_TRUE(Store::open(folder.path())->append(passed_record("1MiB")).ok()); }
  const std::string whole = contents(file);
  append_raw(file, whole.substr(0, whole.size() / 2));
  auto stored = read_records(folder.path());
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->records.size(), 1u);
  EXPECT_THAT(stored->problems, ElementsAre("records.jsonl:2: torn last line, ignored"));
  ASSERT_TRUE(Store::open(folder.path())->append(passed_record("2MiB")).ok());
  stored = read_records(folder.path());
  EXPECT_THAT(sizes(*stored), ElementsAre("1MiB", "2MiB"));
  EXPECT_THAT(stored->problems, IsEmpty());
}

TEST(Store, AFileThatIsOneLongTornLineBecomesEmpty) {
  const TemporaryFolder folder;
  append_raw(folder.path() / "records.jsonl", std::string(200000, 'x'));
  ASSERT_TRUE(Store::open(folder.path())->append(passed_record("1MiB")).ok());
  EXPECT_THAT(sizes(*read_records(folder.path())), ElementsAre("1MiB"));
}

TEST(Store, DamagedLinesAreNamedAndTheRestIsRead) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  ASSERT_TRUE(store->append(passed_record("1MiB")).ok());
  append_raw(folder.path() / "records.jsonl", "{\"schema\":\n\n{\"schema\":1}\n");
  ASSERT_TRUE(store->append(passed_record("2MiB")).ok());
  const auto stored = read_records(folder.path());
  EXPECT_THAT(sizes(*stored), ElementsAre("1MiB", "2MiB"));
  EXPECT_THAT(stored->problems, ElementsAre("records.jsonl:2: it is not JSON, ignored",
                                            "records.jsonl:4: field run is missing, ignored"));
}

TEST(Store, TwoWritersAtOnceMixNoLines) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& size) {
    auto store = Store::open(folder.path());
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(store->append(passed_record(size)).ok());
  };
  std::thread first(write, "1MiB"), second(write, "2MiB");
  first.join();
  second.join();
  const auto stored = read_records(folder.path());
  EXPECT_EQ(stored->records.size(), 100u);
  EXPECT_THAT(stored->problems, IsEmpty());
}

// Four processes at once write without a pause until they are killed, eight times.
TEST(Store, ThirtyTwoKillsOfFourWritersTearNoLine) {
  const TemporaryFolder folder;
  constexpr int writers = 4;
  std::size_t killed = 0;
  for (int round = 0; round < 8; ++round) {
    std::array<pid_t, writers> children = {};
    for (pid_t& child : children) {
      child = ::fork();
      ASSERT_GE(child, 0);
      if (child != 0) continue;
      auto store = Store::open(folder.path());
      while (store.ok() && store->append(passed_record()).ok()) continue;
      ::_exit(1);
    }
    for (const pid_t child : children) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10 + 3 * round));
      ::kill(child, SIGKILL);
    }
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      killed += WIFSIGNALED(status) ? 1 : 0;
    }
  }
  EXPECT_EQ(killed, 32u);
  auto store = Store::open(folder.path());
  ASSERT_TRUE(store.ok()) << store.error().message;
  ASSERT_TRUE(store->append(passed_record()).ok());
  const auto stored = read_records(folder.path());
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  EXPECT_THAT(stored->problems, IsEmpty());
  EXPECT_GE(stored->records.size(), 2u);
}

TEST(Store, FingerprintsAreStoredOnce) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  const Json first = {{"cpu", "a"}, {"kernel", "6.1"}};
  const Json reordered = {{"kernel", "6.1"}, {"cpu", "a"}};
  const auto id = store->append_fingerprint(first);
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(*id, fingerprint_id(first));
  EXPECT_EQ(*store->append_fingerprint(reordered), *id);
  EXPECT_NE(*store->append_fingerprint({{"cpu", "b"}}), *id);
  const std::string text = contents(folder.path() / "fingerprints.jsonl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  const Json line = Json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(line["id"], *id);
  EXPECT_EQ(line["fingerprint"], first);
}

TEST(Store, FingerprintIdIsTheHashOfSortedCompactJson) {
  // echo -n '{"a":1,"b":2}' | sha256sum
  EXPECT_EQ(fingerprint_id({{"b", 2}, {"a", 1}}), "43258cff783fe703");
}

TEST(Store, TextThatIsNotUtf8DoesNotStopARecord) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  Record record = passed_record("1MiB");
  record.device.name = "GPU \xff";
  ASSERT_TRUE(store->append(record).ok());
  EXPECT_EQ(read_records(folder.path())->records.at(0).device.name, "GPU \xef\xbf\xbd");
}

TEST(Store, AWriterWaitsForTheOthersLock) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  const auto path = folder.path() / "records.jsonl";
  const int other = ::open(path.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  std::thread writer([&] { ASSERT_TRUE(store->append(passed_record("1MiB")).ok()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(contents(path), "");
  ::flock(other, LOCK_UN);
  writer.join();
  ::close(other);
  EXPECT_EQ(read_records(folder.path())->records.size(), 1u);
}

TEST(Store, FoldersThatCannotBeUsedSayWhy) {
  const TemporaryFolder folder;
  folder.write("file", "");
  EXPECT_THAT(Store::open(folder.path() / "file").error().message,
              HasSubstr("cannot create the folder"));
  EXPECT_THAT(Store::open(folder.path() / "file" / "below").error().message,
              HasSubstr("Not a directory"));
  std::filesystem::create_directories(folder.path() / "taken" / "records.jsonl");
  EXPECT_THAT(Store::open(folder.path() / "taken").error().message, HasSubstr("Is a directory"));
  EXPECT_THAT(read_records(folder.path() / "none").error().message,
              HasSubstr("No such file or directory"));
  EXPECT_EQ(Store::open("/proc/assay").error().kind, ErrorKind::file);
}

TEST(Store, AFullDiskIsExhaustedAndLosesNothingStored) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  ASSERT_TRUE(store->append(passed_record("1MiB")).ok());
  const std::string before = contents(folder.path() / "records.jsonl");
  const pid_t child = fork();  // its file size limit fails writes as a full disk does
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {before.size() + 100, before.size() + 100};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Status status = store->append(passed_record("2MiB"));
    _exit(!status.ok() && status.error().kind == ErrorKind::exhausted ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(contents(folder.path() / "records.jsonl"), before);  // the torn part was removed
  ASSERT_TRUE(store->append(passed_record("4MiB")).ok());
  EXPECT_THAT(sizes(*read_records(folder.path())), ElementsAre("1MiB", "4MiB"));
}

/// The bytes that this process has asked to read so far.
std::uint64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  io >> name >> value;
  return name == "rchar:" ? value : 0;
}

TEST(Store, AnAppendDoesNotReadWhatIsThere) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  ASSERT_TRUE(store.ok());
  append_raw(folder.path() / "records.jsonl", std::string(8 << 20, 'x') + "\n");
  const std::uint64_t before = bytes_read();
  if (before == 0) GTEST_SKIP() << "/proc/self/io does not count here";
  ASSERT_TRUE(store->append(passed_record("1MiB")).ok());
  EXPECT_LT(bytes_read() - before, 1u << 20);
}

TEST(Store, ADeletedOrReplacedFileIsAnError) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  ASSERT_TRUE(store->append(passed_record("1MiB")).ok());
  const auto path = folder.path() / "records.jsonl";
  std::filesystem::rename(path, folder.path() / "kept.jsonl");
  const Status deleted = store->append(passed_record("2MiB"));
  ASSERT_FALSE(deleted.ok());
  EXPECT_EQ(deleted.error().message,
            "cannot write " + path.string() + ": it was deleted or replaced while it was in use");
  append_raw(path, "");
  EXPECT_FALSE(store->append(passed_record("2MiB")).ok());
  EXPECT_THAT(sizes(*read_records(folder.path() / "kept.jsonl")), ElementsAre("1MiB"));
}

/// Copying a JSON value walks its nesting on the stack: 60,000 levels overflow it.
TEST(Store, DeeplyNestedLinesAreNamedAndTheRestIsRead) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  const std::string deep = std::string(60'000, '[') + std::string(60'000, ']');
  const std::string objects = [] {
    std::string text;
    for (int i = 0; i < 60'000; ++i) text += "{\"a\":";
    return text + "1" + std::string(60'000, '}');
  }();
  append_raw(folder.path() / "records.jsonl", deep + "\n{\"schema\":" + objects + "}\n");
  ASSERT_TRUE(store->append(passed_record("1MiB")).ok());
  for (const Detail detail : {Detail::whole, Detail::summary}) {
    const auto stored = read_records(folder.path(), detail);
    ASSERT_TRUE(stored.ok());
    EXPECT_THAT(sizes(*stored), ElementsAre("1MiB"));
    EXPECT_THAT(stored->problems, testing::SizeIs(2));
  }
}

TEST(Store, WhatNeverEndsIsNotRead) {
  EXPECT_THAT(read_records("/dev/zero").error().message,
              HasSubstr("it is neither a file nor a pipe"));
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "records.jsonl";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(read_records(pipe)->records, IsEmpty());  // nobody writes to it
  EXPECT_THAT(Store::open(folder.path()).error().message, HasSubstr("is not a file"));
}

}  // namespace
}  // namespace assay
