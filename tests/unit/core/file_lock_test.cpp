#include "core/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// A process that holds the lock of a file while this object lives.
class Holder {
 public:
  explicit Holder(const std::filesystem::path& path) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    process_ = ::fork();
    if (process_ == 0) {
      const int file = ::open(path.c_str(), O_RDONLY);
      if (::flock(file, LOCK_EX) == 0 && ::write(ready[1], "1", 1) == 1) ::pause();
      ::_exit(1);
    }
    char one = 0;
    EXPECT_EQ(::read(ready[0], &one, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Holder() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  pid_t process() const { return process_; }

 private:
  pid_t process_ = 0;
};

TEST(FileLock, WaitsForALimitedTimeAndSaysForWhom) {
  const TemporaryFolder folder;
  const auto path = folder.write("records.jsonl", "");
  const Descriptor file(::open(path.c_str(), O_RDWR));
  std::string said;
  lock_notice() = [&](const std::string& text) { said += text + "\n"; };
  {
    const Holder holder(path);
    const Status locked = lock_file(file.number(), path, std::chrono::milliseconds(200));
    ASSERT_FALSE(locked.ok());
    EXPECT_EQ(locked.error().kind, ErrorKind::file);
    const bool known = lock_holder(file.number()) != "another process";
    const std::string name =
        known ? fmt::format("process {}", holder.process()) : "another process";
    EXPECT_THAT(locked.error().message, HasSubstr(name)) << locked.error().message;
    EXPECT_THAT(said, HasSubstr(fmt::format("waiting for {}, which {}", path.string(), name)));
  }
  lock_notice() = nullptr;
  EXPECT_TRUE(lock_file(file.number(), path).ok());
  unlock_file(file.number());
}

}  // namespace
}  // namespace assay
