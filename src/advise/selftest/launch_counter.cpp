#include "advise/selftest/launch_counter.h"

#include "advise/selftest/expect.h"
#include "compute/device/helpers.h"

namespace assay::selftest {

Result<LaunchCounter> LaunchCounter::create(Stage& stage) {
  auto program = TRY(stage.device.build({"empty", {}}));
  Kernel* const kernel = TRY(program->kernel("increment"));
  Buffer number = TRY(stage.device.allocate(sizeof(unsigned), MemoryKind::device));
  TRY(stage.stream.fill(number.data(), 0, sizeof(unsigned)));
  TRY(stage.stream.synchronize());
  return LaunchCounter(stage.stream, std::move(program), *kernel, std::move(number));
}

Status LaunchCounter::increment(Stream& stream) const {
  return launch(stream, *kernel_, {}, address());
}

Status LaunchCounter::expect(unsigned expected, std::string_view when) const {
  const unsigned found = TRY(read_back<unsigned>(*stream_, address(), 1)).front();
  return expect_equal(fmt::format("runs of the kernel {}", when), found, expected);
}

}  // namespace assay::selftest
