// What an emulator takes for granted: whole words, atomics and fences between all parts of a device
// and between devices, the rate of the clock that kernels read.
#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "compute/device/helpers.h"
#include "core/units.h"

namespace assay::selftest::hardware {
namespace {

/// Looks of a kernel that waits for another: seconds on a GPU.
constexpr unsigned looks = 20'000'000;
constexpr unsigned looks_if_slow = 2000;

struct Questions {
  std::unique_ptr<Program> program;

  static Result<Questions> create(Device& device) {
    return Questions{TRY(device.build({"hardware_questions", {}}))};
  }
  Result<Kernel*> kernel(std::string_view name) const { return program->kernel(name); }
};

/// Numbers that kernels add what they found to.
Result<Buffer> zeros(Device& device, Stream& stream, std::size_t bytes) {
  Buffer buffer = TRY(device.allocate(bytes, MemoryKind::device));
  TRY(stream.fill(buffer.data(), 0, bytes));
  TRY(stream.synchronize());
  return buffer;
}

/// `writer` stores rounds of words in `window_of_writer`; `reader` watches the same memory as
/// `window`.
Answer watch_words(Stage& stage, Device& writer_device, Stream& writer, void* window_of_writer,
                   void* window) {
  constexpr unsigned words = 4096, threads = 256;
  const unsigned rounds = stage.large ? 20000 : 20;
  const Questions here = TRY(Questions::create(stage.device));
  const Questions there = TRY(Questions::create(writer_device));
  const Buffer found = TRY(zeros(stage.device, stage.stream, 3 * sizeof(unsigned)));
  TRY(stage.stream.fill(window, 0, words * sizeof(std::uint64_t)));
  TRY(stage.stream.synchronize());
  Kernel* const watch = TRY(here.kernel("watch_rounds"));
  Kernel* const store = TRY(there.kernel("store_rounds"));
  TRY(launch(stage.stream, *watch, {{words / threads}, {threads}},
             static_cast<const std::uint64_t*>(window), words, rounds,
             stage.large ? looks : looks_if_slow, found.as<unsigned>()));
  TRY(launch(writer, *store, {{words / threads}, {threads}},
             static_cast<std::uint64_t*>(window_of_writer), words, 1u, rounds));
  TRY(writer.synchronize());
  const auto counts = TRY(read_back<unsigned>(stage.stream, found.data(), 3));
  TRY(expect_equal("words of which only one half had arrived", counts[0], 0u));
  const auto last = TRY(read_back<std::uint64_t>(stage.stream, window, words));
  const std::uint64_t wanted = std::uint64_t{rounds} << 32 | rounds;
  TRY(expect_equal("words that hold the last round in the end", std::ranges::count(last, wanted),
                   words));
  if (counts[1] == 0) {
    return Error{ErrorKind::unsupported, "no word changed while it was watched: nothing is proven"};
  }
  return fmt::format("{} changes seen, {} words never seen in their last round", counts[1],
                     counts[2]);
}

Answer words_within(Stage& stage) {
  const Buffer window = TRY(stage.device.allocate(1 << 16, MemoryKind::peer));
  auto writer = TRY(stage.device.create_stream());
  return watch_words(stage, stage.device, *writer, window.data(), window.data());
}

/// Memory of the stage's device that device 1 writes.
struct SharedWindow {
  std::unique_ptr<Device> other;
  std::unique_ptr<Stream> stream;
  Buffer here, there;

  static Result<SharedWindow> open(Stage& stage) {
    const int ordinal = stage.device.facts().ordinal == 0 ? 1 : 0;
    SharedWindow window;
    window.other = TRY(stage.device.open_sibling(ordinal));
    TRY(window.other->enable_peer_access(stage.device.facts().ordinal));
    window.stream = TRY(window.other->create_stream());
    window.here = TRY(stage.device.allocate(1 << 20, MemoryKind::peer));
    const std::string handle = TRY(stage.device.share(window.here));
    window.there = TRY(window.other->open_shared(handle));
    return window;
  }
};

Answer words_between(Stage& stage) {
  const SharedWindow window = TRY(SharedWindow::open(stage));
  return watch_words(stage, *window.other, *window.stream, window.there.data(), window.here.data());
}

Answer messages_between(Stage& stage) {
  constexpr unsigned numbers = 65536;
  const unsigned rounds = stage.large ? 500 : 3;
  const SharedWindow window = TRY(SharedWindow::open(stage));
  const Questions here = TRY(Questions::create(stage.device));
  const Questions there = TRY(Questions::create(*window.other));
  Kernel& receive = *TRY(here.kernel("receive_numbers"));
  Kernel& send = *TRY(there.kernel("send_numbers"));
  const Buffer found = TRY(zeros(stage.device, stage.stream, 2 * sizeof(unsigned)));
  TRY(stage.stream.fill(window.here.data(), 0, window.here.bytes()));
  TRY(stage.stream.synchronize());
  auto* const data = window.here.as<unsigned>();
  auto* const sent = window.there.as<unsigned>();
  for (unsigned round = 1; round <= rounds; ++round) {
    TRY(launch(stage.stream, receive, {{1}, {256}}, static_cast<const unsigned*>(data), numbers,
               static_cast<const unsigned*>(data + numbers), round,
               stage.large ? looks : looks_if_slow, found.as<unsigned>()));
    TRY(launch(*window.stream, send, {{1}, {256}}, sent, numbers, sent + numbers, round));
    TRY(window.stream->synchronize());
    const auto counts = TRY(read_back<unsigned>(stage.stream, found.data(), 2));
    TRY(expect_equal("numbers that were older than the flag behind them", counts[0], 0u));
    if (counts[1] == 0) continue;
    if (stage.large) return wrong(fmt::format("the flag of message {} did not arrive", round));
    return Error{ErrorKind::unsupported, "the devices did not run at the same time"};
  }
  return fmt::format("{} messages of {} KiB", rounds, numbers * 4 / 1024);
}

Answer fences(Stage& stage) {
  constexpr unsigned part = 1024;
  const unsigned rounds = stage.large ? 2000 : 5;
  const auto blocks = static_cast<unsigned>(stage.device.facts().multiprocessors);
  const Questions questions = TRY(Questions::create(stage.device));
  Kernel& kernel = *TRY(questions.kernel("last_block_looks"));
  const Buffer numbers =
      TRY(zeros(stage.device, stage.stream, std::size_t{blocks} * part * sizeof(unsigned)));
  const Buffer counts = TRY(zeros(stage.device, stage.stream, 2 * sizeof(unsigned)));
  for (unsigned round = 1; round <= rounds; ++round) {
    TRY(launch(stage.stream, kernel, {{blocks}, {256}}, numbers.as<unsigned>(), part, round,
               counts.as<unsigned>(), counts.as<unsigned>() + 1));
  }
  const auto found = TRY(read_back<unsigned>(stage.stream, counts.data(), 2));
  TRY(expect_equal("numbers of other blocks that the last block did not see", found[1], 0u));
  TRY(expect_equal("blocks still counted as arrived", found[0], 0u));
  return fmt::format("{} rounds of {} blocks", rounds, blocks);
}

Answer atomics(Stage& stage) {
  const DeviceFacts& facts = stage.device.facts();
  // A float counts exactly to 2^24.
  const unsigned threads = facts.runs_on_host ? 1 : 256;
  const unsigned blocks = stage.large ? 8192 : 64;
  const Questions questions = TRY(Questions::create(stage.device));
  const Buffer counts = TRY(zeros(stage.device, stage.stream, 32));
  auto* const words = counts.as<unsigned>();
  Kernel* const count = TRY(questions.kernel("count_threads"));
  TRY(launch(stage.stream, *count, {{blocks}, {threads}}, words,
             reinterpret_cast<std::uint64_t*>(words + 2), reinterpret_cast<float*>(words + 4),
             words + 5, words + 6));
  const auto found = TRY(read_back<unsigned>(stage.stream, counts.data(), 8));
  const unsigned all = blocks * threads;
  TRY(expect_equal("32-bit sum of ones", found[0], all));
  TRY(expect_equal("64-bit sum of ones", found[2] + (std::uint64_t{found[3]} << 32), all));
  TRY(expect_equal("sum of ones in f32", std::bit_cast<float>(found[4]), static_cast<float>(all)));
  TRY(expect_equal("largest number of a thread", found[5], all));
  TRY(expect_equal("blocks that took their turn by compare-and-exchange", found[6], blocks));
  return fmt::format("{} threads", all);
}

Result<std::pair<double, double>> read_clocks(Stage& stage, Kernel& kernel, const Buffer& ticks) {
  using Seconds = std::chrono::duration<double>;
  const Seconds before = std::chrono::steady_clock::now().time_since_epoch();
  TRY(launch(stage.stream, kernel, {}, ticks.as<std::uint64_t>()));
  TRY(stage.stream.synchronize());
  const Seconds after = std::chrono::steady_clock::now().time_since_epoch();
  return std::pair{static_cast<double>(*ticks.as<std::uint64_t>()),
                   (before.count() + after.count()) / 2};
}

/// s_memrealtime on AMD GPUs, globaltimer on NVIDIA's. Every time that kernels measure depends on
/// its rate, which the driver reports or which is taken from the architecture's documents.
Answer wall_clock(Stage& stage) {
  const DeviceFacts& facts = stage.device.facts();
  if (facts.emulated) {
    return Error{ErrorKind::unsupported, "an emulated device's clock does not follow the host's"};
  }
  const Questions questions = TRY(Questions::create(stage.device));
  Kernel& kernel = *TRY(questions.kernel("read_ticks"));
  const Buffer ticks = TRY(stage.device.allocate(sizeof(std::uint64_t), MemoryKind::pinned));
  TRY(read_clocks(stage, kernel, ticks));  // the first launch loads the kernel
  const auto [first, host_first] = TRY(read_clocks(stage, kernel, ticks));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto [last, host_last] = TRY(read_clocks(stage, kernel, ticks));
  const double rate = (last - first) / (host_last - host_first);
  TRY(expect_within("ticks per second of the host, as a share of the reported rate",
                    rate / facts.tick_hz, 0.98, 1.02));
  return fmt::format("{} reported, {} by the host's clock", format_frequency(facts.tick_hz),
                     format_frequency(rate));
}

/// Blocks on all multiprocessors read one clock at about the same time.
Answer common_clock(Stage& stage) {
  const DeviceFacts& facts = stage.device.facts();
  if (facts.emulated) {
    return Error{ErrorKind::unsupported, "kernels on an emulated device do not read one clock"};
  }
  const auto blocks = static_cast<unsigned>(facts.multiprocessors);
  const Questions questions = TRY(Questions::create(stage.device));
  Kernel& kernel = *TRY(questions.kernel("read_ticks"));
  const Buffer ticks =
      TRY(stage.device.allocate(blocks * sizeof(std::uint64_t), MemoryKind::device));
  double least = 0;
  for (int i = 0; i < 10; ++i) {
    TRY(launch(stage.stream, kernel, {{blocks}, {64}}, ticks.as<std::uint64_t>()));
    const auto read = TRY(read_back<std::uint64_t>(stage.stream, ticks.data(), blocks));
    const auto [first, last] = std::ranges::minmax(read);
    const double spread = static_cast<double>(last - first) / facts.tick_hz;
    if (i == 0 || spread < least) least = spread;
  }
  TRY(expect(least < 1e-3,
             fmt::format("the clocks of multiprocessors are {} apart", format_seconds(least))));
  return fmt::format("{} between the first and the last of {} blocks", format_seconds(least),
                     blocks);
}

const AddChecks registered{
    {.name = "whole-words",
     .topic = Topic::hardware,
     .about = "aligned 8-byte stores to memory for peers arrive whole on the same device",
     .run = &words_within},
    {.name = "whole-words-between-devices",
     .topic = Topic::hardware,
     .about = "aligned 8-byte stores of another device arrive whole",
     .devices = 2,
     .run = &words_between},
    {.name = "fences-between-devices",
     .topic = Topic::hardware,
     .about = "what another device stores before a fence is seen with what it stores behind it",
     .devices = 2,
     .run = &messages_between},
    {.name = "fences",
     .topic = Topic::hardware,
     .about = "the last block of a grid sees what all other blocks have stored",
     .accelerator = false,
     .run = &fences},
    {.name = "atomics",
     .topic = Topic::hardware,
     .about = "atomics of all multiprocessors lose nothing",
     .accelerator = false,
     .run = &atomics},
    {.name = "wall-clock",
     .topic = Topic::hardware,
     .about = "the clock that kernels read runs at the reported rate",
     .run = &wall_clock},
    {.name = "common-clock",
     .topic = Topic::hardware,
     .about = "all multiprocessors read the same clock",
     .run = &common_clock},
};

}  // namespace
}  // namespace assay::selftest::hardware
