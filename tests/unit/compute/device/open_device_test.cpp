// Which device a name means, and what is said of names that mean none.
#include <gtest/gtest.h>

#include "compute/device/backend.h"

namespace assay {
namespace {

/// Answers open() with an error that says which device was meant: opening itself is the backends'.
class StubBackend : public Backend {
 public:
  StubBackend(std::string name, int score, int count)
      : name_(std::move(name)), score_(score), count_(count) {}
  std::string_view name() const override { return name_; }
  int score() override { return score_; }
  std::string absence() override { return score_ == 0 ? "no library" : ""; }
  std::vector<LibraryFact> libraries() override { return {}; }
  std::vector<DeviceFacts> devices() override { return std::vector<DeviceFacts>(count_); }
  Result<std::unique_ptr<Device>> open(int ordinal) override {
    return Error{ErrorKind::failed, "opened " + name_ + ":" + std::to_string(ordinal)};
  }

 private:
  std::string name_;
  int score_;
  std::size_t count_;
};

std::vector<std::unique_ptr<Backend>> machine() {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::make_unique<StubBackend>("cpu", 10, 1));
  backends.push_back(std::make_unique<StubBackend>("cuda", 100, 2));
  backends.push_back(std::make_unique<StubBackend>("fake", -1, 1));
  backends.push_back(std::make_unique<StubBackend>("hip", 0, 0));
  return backends;
}

Error choose(std::string_view choice) {
  auto backends = machine();
  return open_device(backends, choice).error();
}

TEST(OpenDevice, NamesAndDefaults) {
  EXPECT_EQ(choose("").message, "opened cuda:0");
  EXPECT_EQ(choose("cuda").message, "opened cuda:0");
  EXPECT_EQ(choose("cuda:1").message, "opened cuda:1");
  EXPECT_EQ(choose("cpu").message, "opened cpu:0");
  EXPECT_EQ(choose("fake:0").message, "opened fake:0");
}

TEST(OpenDevice, FakeIsNeverTheDefault) {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::make_unique<StubBackend>("fake", -1, 1));
  const auto device = open_device(backends, "");
  EXPECT_EQ(device.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(device.error().message, "no device: every backend is absent");
}

TEST(OpenDevice, WrongNamesSayWhatThereIs) {
  const std::string there = "; allowed: cpu, cuda:0, cuda:1, fake, hip (absent)";
  EXPECT_EQ(choose("gpu").message, "device \"gpu\": no backend \"gpu\"" + there);
  EXPECT_EQ(choose("cuda:2").message, "device \"cuda:2\": cuda has 2 devices" + there);
  for (const char* bad : {"cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999"}) {
    EXPECT_EQ(choose(bad).kind, ErrorKind::usage) << bad;
    EXPECT_EQ(choose(bad).message,
              std::string("device \"") + bad + "\": the part after ':' must be a number" + there);
  }
}

TEST(OpenDevice, AnAbsentBackendSaysWhy) {
  EXPECT_EQ(choose("hip").kind, ErrorKind::unavailable);
  EXPECT_EQ(choose("hip:0").message, "device \"hip:0\": hip is absent: no library");
}

TEST(OpenDevice, EveryBackendFolderIsRegistered) {
  std::vector<std::string> names;
  for (const auto& backend : make_backends()) names.emplace_back(backend->name());
  EXPECT_EQ(names, (std::vector<std::string>{"cpu", "cuda", "fake", "hip"}));
}

}  // namespace
}  // namespace assay
