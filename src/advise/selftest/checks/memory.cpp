// Memory of each kind: copies, kernels that see host memory, allocations that cannot succeed.
#include <cstring>

#include "advise/selftest/expect.h"
#include "advise/selftest/launch_counter.h"
#include "compute/device/helpers.h"
#include "core/units.h"

namespace assay::selftest::memory {
namespace {

Answer copies(Stage& stage) {
  constexpr std::size_t bytes = 1000003;
  Device& device = stage.device;
  for (const MemoryKind host : {MemoryKind::pinned, MemoryKind::pageable}) {
    const Buffer from = TRY(device.allocate(bytes, host)), back = TRY(device.allocate(bytes, host));
    const Buffer first = TRY(device.allocate(bytes, MemoryKind::device));
    const Buffer second = TRY(device.allocate(bytes, MemoryKind::device));
    for (std::size_t i = 0; i < bytes; ++i) from.as<unsigned char>()[i] = (i * 7 + 3) & 255;
    TRY(stage.stream.fill(second.data(), 0xEE, bytes));
    TRY(stage.stream.copy(first.data(), from.data(), bytes));
    TRY(stage.stream.copy(second.data(), first.data(), bytes));
    TRY(stage.stream.copy(back.data(), second.data(), bytes));
    TRY(stage.stream.synchronize());
    TRY(expect(std::memcmp(back.data(), from.data(), bytes) == 0,
               host == MemoryKind::pinned ? "a copy from and to pinned memory changed bytes"
                                          : "a copy from and to pageable memory changed bytes"));
  }
  return passed();
}

Answer pinned(Stage& stage) {
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  const Buffer number = TRY(stage.device.allocate(sizeof(unsigned), MemoryKind::pinned));
  *number.as<unsigned>() = 41;
  TRY(launch(stage.stream, counter.kernel(), {}, number.as<unsigned>()));
  TRY(stage.stream.synchronize());
  TRY(expect_equal("a number in host memory that a kernel incremented", *number.as<unsigned>(),
                   42u));
  return passed();
}

/// Memory that other devices may write: kernels and copies use it like any other.
Answer peer_windows(Stage& stage) {
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  const Buffer window = TRY(stage.device.allocate(1 << 16, MemoryKind::peer));
  TRY(stage.stream.fill(window.data(), 0, window.bytes()));
  for (int i = 0; i < 2; ++i) {
    TRY(launch(stage.stream, counter.kernel(), {}, window.as<unsigned>()));
  }
  const auto found = TRY(read_back<unsigned>(stage.stream, window.data(), 1));
  TRY(expect_equal("a number in memory for peers that a kernel incremented twice", found.front(),
                   2u));
  return passed();
}

Answer too_much(Stage& stage) {
  const LaunchCounter counter = TRY(LaunchCounter::create(stage));
  TRY(expect_refused("an allocation of 1 PiB",
                     stage.device.allocate(std::size_t{1} << 50, MemoryKind::device),
                     ErrorKind::exhausted, ""));
  TRY(counter.increment(stage.stream));
  TRY(counter.expect(1, "after an allocation that failed"));
  return passed();
}

const AddChecks registered{
    {.name = "copies",
     .topic = Topic::device,
     .about = "copies arrive whole between all kinds of memory",
     .accelerator = false,
     .run = &copies},
    {.name = "pinned-memory",
     .topic = Topic::device,
     .about = "kernels write pinned host memory",
     .accelerator = false,
     .run = &pinned},
    {.name = "peer-windows",
     .topic = Topic::device,
     .about = "kernels use memory that other devices may write",
     .accelerator = false,
     .run = &peer_windows},
    {.name = "too-much-memory",
     .topic = Topic::device,
     .about = "more memory than there is is refused, and the device lives on",
     .accelerator = false,
     .run = &too_much},
};

}  // namespace
}  // namespace assay::selftest::memory
