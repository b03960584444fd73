// Checks of the self-test on the virtual MI300X and its libraries: those that cost an emulator
// little. A check that finds something wrong there is seen to say so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "abi/virtual_machine.h"
#include "advise/selftest/check.h"

#ifdef VIRTUAL_HIP

namespace assay::selftest {
namespace {

constexpr const char* variables[] = {"ASSAY_HIPBLASLT_LIBRARY", "ASSAY_ROCBLAS_LIBRARY",
                                     "ASSAY_RCCL_LIBRARY", "ASSAY_MIOPEN_LIBRARY"};

/// Two devices of few compute units, which have few idle workgroups, with the libraries.
class VirtualChecks : public testing::TestWithParam<std::string_view> {
 protected:
  VirtualChecks() {
    for (const char* variable : variables) setenv(variable, MOCK_BLAS, 1);
    setenv("MI300X_UNITS", "4", 1);
    machine_.emplace(VIRTUAL_HIP + std::string("6"));
  }
  ~VirtualChecks() override {
    machine_.reset();
    unsetenv("MI300X_UNITS");
    for (const char* variable : variables) unsetenv(variable);
  }

  Answer run(std::string_view name) const {
    const auto& checks = CheckRegistry::entries();
    const auto found = std::ranges::find(checks, name, &Check::name);
    if (found == checks.end()) return Error{ErrorKind::usage, "there is no such check"};
    const auto backend = machine_->backend();
    const auto device = TRY(backend->open(0));
    const auto stream = TRY(device->create_stream());
    Stage stage{*device, *stream, false};
    return found->run(stage);
  }

  std::optional<VirtualMachine> machine_;
};

TEST_P(VirtualChecks, Hold) {
  const Answer answer = run(GetParam());
  EXPECT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_STREQ(machine_->last_fault(), "");
}

INSTANTIATE_TEST_SUITE_P(, VirtualChecks,
                         testing::Values("collective-communicators", "collective-data-bits",
                                         "collective-one-rank", "collective-one-rank-operations"),
                         [](const auto& name) {
                           std::string words(name.param);
                           std::ranges::replace(words, '-', '_');
                           return words;
                         });

}  // namespace
}  // namespace assay::selftest
#endif
