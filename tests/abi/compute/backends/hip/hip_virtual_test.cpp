// The whole HIP backend, executed on virtual MI300Xs as of ROCm 5, 6 and 7: kernels are
// gfx942 code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "abi/virtual_machine.h"
#include "compute/device/helpers.h"
#include "measure/sampling/clock_probe.h"
#include "support/temporary_folder.h"

#ifdef VIRTUAL_HIP

namespace assay {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr int hip_invalid_value = 1, hip_out_of_memory = 2, hip_no_device = 100,
              hip_invalid_image = 200, hip_launch_failure = 719, hip_invalidated_capture = 901;

class HipVirtual : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    backend_ = machine_.backend();
    auto device = backend_->open(0);
    ASSERT_TRUE(device) << device.error().message;
    device_ = std::move(*device);
    auto stream = device_->create_stream();
    ASSERT_TRUE(stream) << stream.error().message;
    stream_ = std::move(*stream);
  }
  void TearDown() override {
    stream_.reset();
    device_.reset();
    EXPECT_EQ(machine_.live_objects(), 0) << "something was not released";
  }

  Buffer allocate(std::size_t bytes, MemoryKind kind = MemoryKind::device) {
    auto buffer = device_->allocate(bytes, kind);
    EXPECT_TRUE(buffer) << buffer.error().message;
    return buffer ? std::move(*buffer) : Buffer();
  }

  template <typename T>
  std::vector<T> read(const void* from, std::size_t count) {
    auto values = read_back<T>(*stream_, from, count);
    EXPECT_TRUE(values) << values.error().message;
    return values ? std::move(*values) : std::vector<T>(count);
  }

  VirtualMachine machine_{VIRTUAL_HIP + GetParam()};
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_P(HipVirtual, Facts) {
  EXPECT_EQ(backend_->score(), 100);
  EXPECT_EQ(backend_->absence(), "");
  const std::vector<DeviceFacts> all = backend_->devices();
  ASSERT_EQ(all.size(), 2u);
  const DeviceFacts& facts = device_->facts();
  EXPECT_EQ(facts.backend, "hip");
  EXPECT_EQ(facts.name, "AMD Instinct MI300X");
  EXPECT_EQ(facts.arch, "gfx942:sramecc+:xnack-");
  EXPECT_EQ(facts.pci, "0000:13:00.0");
  EXPECT_EQ(facts.uuid, "GPU-abcdef0000000000");
  EXPECT_EQ(facts.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(facts.last_level_cache_bytes, std::uint64_t{256} << 20);  // the MALL, not 4 MiB
  EXPECT_EQ(facts.multiprocessors, 304);
  EXPECT_EQ(facts.wave_size, 64);
  EXPECT_EQ(facts.max_threads_per_block, 1024);
  EXPECT_EQ(facts.max_threads_per_multiprocessor, 2048);
  EXPECT_EQ(facts.shared_bytes_per_block, 65536u);
  EXPECT_DOUBLE_EQ(facts.clock_hz, 2.1e9);
  EXPECT_DOUBLE_EQ(facts.memory_clock_hz.value_or(0), 1.3e9);
  EXPECT_EQ(facts.memory_bus_bits, 8192);
  EXPECT_TRUE(facts.ecc);
  EXPECT_EQ(all[1].ordinal, 1);
  EXPECT_EQ(all[1].pci, "0000:23:00.0");
  EXPECT_EQ(all[1].uuid, "GPU-abcdef0000000001");
  EXPECT_DOUBLE_EQ(facts.tick_hz, 1e8);
}

TEST_P(HipVirtual, PartitionsAndVirtualFunctions) {
  machine_.set("MI300X_MODE", "CPX/NPS4");
  const std::vector<DeviceFacts> partitions = machine_.backend()->devices();
  ASSERT_EQ(partitions.size(), 16u);
  EXPECT_EQ(partitions[7].multiprocessors, 38);
  EXPECT_EQ(partitions[7].pci, "0000:13:00.0");
  EXPECT_EQ(partitions[8].pci, "0000:23:00.0");
  machine_.set("MI300X_MODE", "SPX/NPS1");
  machine_.set("MI300X_VM", "1");
  const std::vector<DeviceFacts> functions = machine_.backend()->devices();
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].name, "AMD Instinct MI300X VF");
  EXPECT_EQ(functions[0].uuid, "");  // "XX" means that there is no identity
}

TEST_P(HipVirtual, Libraries) {
  const std::vector<LibraryFact> libraries = backend_->libraries();
  ASSERT_EQ(libraries.size(), 2u);
  EXPECT_EQ(libraries[0].role, "runtime");
  EXPECT_THAT(libraries[0].path, HasSubstr("libamdhip64.so"));
  EXPECT_EQ(libraries[0].version, GetParam() == "5"   ? "5.2.21153"
                                  : GetParam() == "6" ? "6.2.41134"
                                                      : "7.0.51831");
  EXPECT_EQ(libraries[1].role, "rtc");
  EXPECT_EQ(libraries[1].path, libraries[0].path);
  EXPECT_EQ(libraries[1].version, GetParam() + ".2");
}

TEST_P(HipVirtual, CopiesAndFills) {
  std::vector<std::uint32_t> values(1000);
  std::iota(values.begin(), values.end(), 7);
  const std::size_t bytes = values.size() * sizeof(values[0]);
  const Buffer device = allocate(bytes), second = allocate(bytes);
  const Buffer pinned = allocate(bytes, MemoryKind::pinned);
  const Buffer pageable = allocate(bytes, MemoryKind::pageable);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pageable.data()) % 256, 0u);
  EXPECT_TRUE(stream_->copy(device.data(), values.data(), bytes));
  EXPECT_TRUE(stream_->copy(second.data(), device.data(), bytes));
  EXPECT_TRUE(stream_->copy(pinned.data(), second.data(), bytes));
  EXPECT_TRUE(stream_->copy(pageable.data(), pinned.data(), bytes));
  EXPECT_TRUE(stream_->synchronize());
  EXPECT_EQ(std::memcmp(pageable.data(), values.data(), bytes), 0);
  EXPECT_TRUE(stream_->fill(device.data(), 0x5a, bytes));
  EXPECT_TRUE(stream_->copy(pinned.data(), device.data(), bytes));
  EXPECT_TRUE(stream_->synchronize());
  EXPECT_EQ(pinned.as<std::uint8_t>()[bytes - 1], 0x5a);
  EXPECT_EQ(allocate(0).data(), nullptr);
}

TEST_P(HipVirtual, OutOfMemoryNamesAskedAndFree) {
  const Buffer half = allocate(std::size_t{512} << 20);
  const auto more = device_->allocate(std::size_t{513} << 20, MemoryKind::device);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().kind, ErrorKind::exhausted);
  EXPECT_EQ(more.error().message,
            "hip:0: out of device memory: requested 537919488 bytes, 536870912 free");
  machine_.fail_next("hipHostMalloc", hip_out_of_memory);
  const auto pinned = device_->allocate(4096, MemoryKind::pinned);
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(pinned.error().message, HasSubstr("pinned host memory: requested 4096 bytes"));
  const auto memory = device_->memory_free_and_total();
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->first, std::uint64_t{512} << 20);
  EXPECT_EQ(memory->second, std::uint64_t{1} << 30);
}

TEST_P(HipVirtual, StreamPriorities) {
  EXPECT_EQ(machine_.last_priority(), 0);
  for (const auto& [priority, number] : {std::pair{StreamPriority::low, 1},
                                         {StreamPriority::normal, 0},
                                         {StreamPriority::high, -1}}) {
    EXPECT_TRUE(device_->create_stream(priority));
    EXPECT_EQ(machine_.last_priority(), number);
  }
  EXPECT_NE(stream_->native_handle(), nullptr);
}

TEST_P(HipVirtual, Events) {
  const auto start = std::move(device_->create_event()).value();
  const auto end = std::move(device_->create_event()).value();
  EXPECT_EQ(start->done().value(), true) << "never recorded: nothing to wait for";
  EXPECT_FALSE(end->seconds_since(*start));
  EXPECT_TRUE(stream_->record(*start));
  EXPECT_TRUE(stream_->wait(*start));
  EXPECT_TRUE(stream_->record(*end));
  EXPECT_TRUE(end->synchronize());
  EXPECT_EQ(end->done().value(), true);
  const auto seconds = end->seconds_since(*start);
  ASSERT_TRUE(seconds);
  EXPECT_GE(*seconds, 0);
  EXPECT_LT(*seconds, 1);
}

/// Sets every c[i] to 2 with the fill kernel, launched on a stream or from a graph.
class HipVirtualKernels : public HipVirtual {
 protected:
  void SetUp() override {
    HipVirtual::SetUp();
    auto program = device_->build({"memory", {{"UNROLL", "2"}}});
    ASSERT_TRUE(program) << program.error().message;
    program_ = std::move(*program);
  }
  void TearDown() override {
    program_.reset();
    HipVirtual::TearDown();
  }
  std::unique_ptr<Program> program_;
};

TEST_P(HipVirtualKernels, LaunchesWithItsArguments) {
  const auto kernel = program_->kernel("initialize_f32");
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(*program_->kernel("initialize_f32"), *kernel);
  const std::uint64_t n = 1003;
  const Buffer x = allocate(n * sizeof(float));
  ASSERT_TRUE(stream_->fill(x.data(), 0xff, x.bytes()));
  const Status status =
      launch(*stream_, **kernel, {{3}, {256}}, x.as<float>(), n, std::uint32_t{1});
  ASSERT_TRUE(status) << status.error().message;
  const auto values = read<float>(x.data(), n);
  for (std::uint64_t i = 0; i < n; ++i) {
    const float value = values[i];
    ASSERT_TRUE(value >= 0 && value < 1024 && value == static_cast<int>(value)) << i;
  }
}

TEST_P(HipVirtualKernels, MissingKernelsAndBadLaunchesAreNamed) {
  const auto missing = program_->kernel("no_such_kernel");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "memory.cu: no kernel named no_such_kernel");
  Kernel& kernel = *program_->kernel("initialize_f32").value();
  const Status too_big = launch(*stream_, kernel, {{1}, {2048}}, nullptr, std::uint64_t{0}, 0u);
  ASSERT_FALSE(too_big);
  EXPECT_EQ(
      too_big.error().message,
      std::string("hip:0: launching initialize_f32 with grid 1x1x1, block 2048x1x1, 0 bytes of "
                  "dynamic shared memory: ") +
          (GetParam() == "7" ? "hipErrorInvalidConfiguration" : "hipErrorInvalidValue"));
  machine_.fail_next("hipModuleLaunchKernel", hip_launch_failure);
  EXPECT_FALSE(launch(*stream_, kernel, {{1}, {64}}, nullptr, std::uint64_t{0}, 0u));
  const auto unknown = device_->build({"no_such_file", {}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "no kernel file no_such_file.cu is built in");
}

TEST_P(HipVirtualKernels, GraphsReplayWhatWasCaptured) {
  const Buffer counter = allocate(64), copy = allocate(64);
  Kernel& kernel = *program_->kernel("write_f32").value();
  ASSERT_TRUE(stream_->fill(counter.data(), 0, 64));
  ASSERT_TRUE(stream_->begin_capture());
  float* const data = counter.as<float>();
  ASSERT_TRUE(launch(*stream_, kernel, {{1}, {64}}, data, data, data, std::uint64_t{16}, 0));
  ASSERT_TRUE(stream_->copy(copy.data(), counter.data(), 64));
  auto graph = stream_->end_capture();
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(read<float>(data, 4)[3], 0.0f) << "captured work must not run";
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stream_->fill(copy.data(), 0, 64));
    ASSERT_TRUE(stream_->launch(**graph));
    EXPECT_EQ(read<float>(copy.data(), 16)[15], 3.0f);
  }
  EXPECT_FALSE(stream_->end_capture());
}

/// The virtual machine refuses what ends HIP's captures by a crash: `stream_` forks to `others[0]`,
/// and so on.
TEST_P(HipVirtual, CapturesThatHipWouldNotSurvive) {
  std::vector<std::unique_ptr<Stream>> others;
  std::vector<std::unique_ptr<Event>> events;
  for (int i = 0; i < 4; ++i) {
    others.push_back(std::move(device_->create_stream()).value());
    events.push_back(std::move(device_->create_event()).value());
  }
  const auto begin = [&] {
    ASSERT_TRUE(stream_->begin_capture());
    ASSERT_TRUE(stream_->record(*events[0]));
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(others[i]->wait(*events[i]));
      ASSERT_TRUE(others[i]->record(*events[i + 1]));
    }
  };
  begin();
  EXPECT_TRUE(others[1]->wait(*events[3])) << "a branch joins where it came from";
  EXPECT_TRUE(stream_->wait(*events[3]));
  EXPECT_TRUE(stream_->end_capture());
  begin();
  EXPECT_FALSE(others[0]->wait(*events[3])) << "a circle of branches";
  EXPECT_FALSE(stream_->end_capture());
  begin();
  EXPECT_FALSE(others[2]->wait(*events[3])) << "its own event";
  EXPECT_FALSE(stream_->end_capture());
  begin();
  EXPECT_FALSE(others[1]->record(*events[3])) << "another stream recorded it before";
  EXPECT_FALSE(stream_->end_capture());
}

/// HIP keeps on a stream what a failed capture left there; the next one is on another.
TEST_P(HipVirtual, AFailedCaptureSpoilsNoLaterOne) {
  const Buffer buffer = allocate(64);
  const auto other = std::move(device_->create_stream()).value();
  const auto fork = std::move(device_->create_event()).value();
  const auto expect_capture = [&](std::uint8_t value) {
    ASSERT_TRUE(stream_->begin_capture());
    ASSERT_TRUE(stream_->fill(buffer.data(), value, 64));
    const auto graph = stream_->end_capture();
    ASSERT_TRUE(graph) << graph.error().message;
    ASSERT_TRUE(stream_->launch(**graph));
    EXPECT_EQ(read<std::uint8_t>(buffer.data(), 64)[63], value);
  };
  const void* const captured = other->native_handle();
  ASSERT_TRUE(stream_->begin_capture());
  ASSERT_TRUE(stream_->record(*fork));
  ASSERT_TRUE(other->wait(*fork));
  ASSERT_TRUE(other->fill(buffer.data(), 1, 64));  // and is never joined
  const auto unjoined = stream_->end_capture();
  ASSERT_FALSE(unjoined);
  EXPECT_NE(other->native_handle(), captured) << "what libraries get next";
  EXPECT_THAT(unjoined.error().message, HasSubstr("ending a capture: hipErrorStreamCapture"));
  ASSERT_TRUE(other->fill(buffer.data(), 4, 64));
  ASSERT_TRUE(other->synchronize());
  EXPECT_EQ(read<std::uint8_t>(buffer.data(), 64)[63], 4);
  expect_capture(2);
  ASSERT_TRUE(stream_->begin_capture());
  machine_.fail_next("hipStreamEndCapture", hip_invalidated_capture);
  EXPECT_FALSE(stream_->end_capture());
  expect_capture(3);
}

TEST_P(HipVirtual, SharingMemoryThatFailsSaysWhatMayCauseIt) {
  const Buffer buffer = allocate(4096);
  const auto failure = [&] {
    machine_.fail_next("hipIpcGetMemHandle", hip_invalid_value);
    const auto shared = device_->share(buffer);
    EXPECT_FALSE(shared);
    return shared ? "" : shared.error().message;
  };
  EXPECT_THAT(failure(), EndsWith("hipErrorInvalidValue"));
  setenv("HSA_ENABLE_IPC_MODE_LEGACY", "0", 1);
  EXPECT_THAT(failure(), EndsWith("hipErrorInvalidValue"));
  setenv("HSA_ENABLE_IPC_MODE_LEGACY", "1", 1);
  EXPECT_THAT(failure(), HasSubstr("hipErrorInvalidValue; HSA_ENABLE_IPC_MODE_LEGACY=1 makes this "
                                   "fail in several releases of ROCm"));
  unsetenv("HSA_ENABLE_IPC_MODE_LEGACY");
}

TEST_P(HipVirtualKernels, ResourcesAndOccupancy) {
  Kernel& kernel = *program_->kernel("dot_f64").value();
  const auto resources = kernel.resources();
  ASSERT_TRUE(resources);
  EXPECT_GT(resources->registers, 0);
  EXPECT_LE(resources->registers, 128);  // 16 waves must fit
  const int lds = resources->static_shared_bytes;
  EXPECT_GE(lds, 64);
  EXPECT_LE(lds, 8192);
  EXPECT_EQ(resources->local_bytes, 0);
  EXPECT_EQ(resources->max_threads_per_block, 1024);
  const int waves = std::min(8, 512 / ((resources->registers + 7) / 8 * 8));  // of a SIMD
  EXPECT_EQ(kernel.blocks_per_multiprocessor(256, 0).value(), std::min(waves, 65536 / lds));
  EXPECT_EQ(kernel.blocks_per_multiprocessor(256, 32768 - static_cast<unsigned>(lds)).value(), 2);
  EXPECT_FALSE(kernel.blocks_per_multiprocessor(0, 0));
  const auto left = static_cast<unsigned>(65536 - lds);
  EXPECT_TRUE(kernel.allow_dynamic_shared(left));
  const Status too_much = kernel.allow_dynamic_shared(left + 1);
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(too_much.error().message,
            "hip:0: dot_f64 requests 65537 bytes of shared memory per block (" +
                std::to_string(lds) + " of them static); the device has 65536");
}

/// The virtual chip's first compute unit is disabled, as it is on some parts.
TEST_P(HipVirtual, TheEngineClockIsReadOnAUnitThatExists) {
  auto probe = ClockProbe::create(*device_);
  ASSERT_TRUE(probe) << probe.error().message;
  const Buffer filled = allocate(std::size_t{64} << 20);
  ASSERT_TRUE(probe->read_before(*stream_));
  ASSERT_TRUE(stream_->fill(filled.data(), 0, filled.bytes()));
  ASSERT_TRUE(probe->read_after(*stream_));
  ASSERT_TRUE(stream_->synchronize());
  ASSERT_TRUE(probe->clock_hz());
  EXPECT_NEAR(*probe->clock_hz(), 2.1e9, 0.01 * 2.1e9);
}

/// A kernel writes past the end of a buffer: the launch succeeds, its stream reports the fault, and
/// the device is lost.
TEST_P(HipVirtualKernels, AnIllegalAddressIsOneLineAndStays) {
  const Buffer x = allocate(1000 * sizeof(float));
  Kernel& kernel = *program_->kernel("initialize_f32").value();
  ASSERT_TRUE(launch(*stream_, kernel, {{1}, {64}}, x.as<float>(), std::uint64_t{1001}, 0u));
  const Status status = stream_->synchronize();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "hip:0: waiting for a stream: hipErrorIllegalAddress");
  EXPECT_THAT(machine_.last_fault(), HasSubstr("initialize_f32"));
  EXPECT_FALSE(device_->allocate(4, MemoryKind::device));
}

TEST_P(HipVirtualKernels, AUseBeforeAWriteIsFound) {
  const Buffer x = allocate(4096), y = allocate(4096);
  Kernel& kernel = *program_->kernel("copy_f32").value();
  ASSERT_TRUE(launch(*stream_, kernel, {{1}, {64}}, y.as<float>(), x.as<float>(), x.as<float>(),
                     std::uint64_t{16}, 0));
  EXPECT_THAT(stream_->synchronize().error().message, HasSubstr("hipErrorLaunchFailure"));
}

TEST_P(HipVirtualKernels, ALostDeviceAnswersNothingMore) {
  machine_.set("MI300X_FAULT", "lost:1");
  auto device = std::move(machine_.backend()->open(0)).value();
  {
    const auto stream = std::move(device->create_stream()).value();
    const auto program = std::move(device->build({"empty", {}})).value();
    Kernel& kernel = *program->kernel("empty").value();
    ASSERT_TRUE(launch(*stream, kernel, {}, 0));
    ASSERT_TRUE(stream->synchronize());
    ASSERT_TRUE(launch(*stream, kernel, {}, 0));
    EXPECT_THAT(stream->synchronize().error().message, HasSubstr("hipErrorLaunchFailure"));
    EXPECT_THAT(device->create_event().error().message, HasSubstr("hipErrorNoDevice"));
  }
}

TEST_P(HipVirtual, TheNthCallFailsAsPlanned) {
  machine_.set("MI300X_FAULT", "hipMalloc:2:hipErrorOutOfMemory");
  const Buffer first = allocate(16);
  const auto second = device_->allocate(16, MemoryKind::device);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::exhausted);
  const Buffer third = allocate(16);
}

TEST_P(HipVirtual, TheSecondBuildComesFromTheCache) {
  const TemporaryFolder cache;
  setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  const auto device = std::move(backend_->open(0)).value();
  const auto entries = [&] {
    return std::distance(std::filesystem::directory_iterator(cache.path() / "assay/kernels"),
                         std::filesystem::directory_iterator());
  };
  EXPECT_TRUE(device->build({"memory", {{"UNROLL", "2"}}}));
  EXPECT_EQ(entries(), 1);
  // An entry that was not rewritten was not compiled again.
  const std::filesystem::path entry =
      std::filesystem::directory_iterator(cache.path() / "assay/kernels")->path();
  const auto written = std::filesystem::last_write_time(entry);
  EXPECT_TRUE(device->build({"memory", {{"UNROLL", "2"}}}));
  EXPECT_EQ(entries(), 1);
  EXPECT_EQ(std::filesystem::last_write_time(entry), written);
  EXPECT_TRUE(device->build({"memory", {{"UNROLL", "8"}}}));
  EXPECT_EQ(entries(), 2);
  // Code that the driver refuses is compiled again and replaced.
  machine_.fail_next("hipModuleLoadData", hip_invalid_image);
  EXPECT_TRUE(device->build({"memory", {{"UNROLL", "2"}}}));
  EXPECT_NE(std::filesystem::last_write_time(entry), written);
}

TEST_P(HipVirtual, PeerCopies) {
  auto second = backend_->open(1);
  ASSERT_TRUE(second);
  const Buffer there = std::move((*second)->allocate(256, MemoryKind::device)).value();
  const Buffer here = allocate(256);
  EXPECT_TRUE(device_->enable_peer_access(1));
  EXPECT_TRUE(device_->enable_peer_access(1)) << "twice is no error";
  EXPECT_TRUE((*second)->enable_peer_access(0));
  const auto there_stream = std::move((*second)->create_stream()).value();
  EXPECT_TRUE(there_stream->fill(there.data(), 9, 256));
  EXPECT_TRUE(there_stream->synchronize());
  const Status copied = stream_->copy_from_peer(here.data(), 1, there.data(), 256);
  EXPECT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(read<std::uint8_t>(here.data(), 256)[255], 9);
  EXPECT_FALSE(stream_->copy_from_peer(here.data(), 0, there.data(), 256));
  EXPECT_TRUE((*second)->siblings() == 2 && device_->siblings() == 2);
  auto again = device_->open_sibling(1);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->facts().ordinal, 1);
  EXPECT_TRUE(stream_->fill(here.data(), 7, 256));
  const Status pushed = stream_->copy_to_peer(1, there.data(), here.data(), 256);
  EXPECT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(read<std::uint8_t>(there.data(), 256)[255], 7);
  EXPECT_EQ(device_->open_sibling(2).error().message,
            "hip has 2 devices, numbered from 0: there is no 2");
  const Status none = device_->enable_peer_access(0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "hip:0 and hip:0 cannot access each other's memory");
}

TEST_P(HipVirtual, EachDeviceIsCurrentForItsOwnCalls) {
  auto second = backend_->open(1);
  ASSERT_TRUE(second);
  const Buffer there = std::move((*second)->allocate(1 << 20, MemoryKind::device)).value();
  EXPECT_EQ(device_->memory_free_and_total()->first, std::uint64_t{1} << 30);
  EXPECT_EQ((*second)->memory_free_and_total()->first, (std::uint64_t{1} << 30) - (1 << 20));
  EXPECT_TRUE(device_->make_current());
  const Buffer here = allocate(1 << 20);
  EXPECT_EQ((*second)->memory_free_and_total()->first, (std::uint64_t{1} << 30) - (1 << 20));
}

TEST_P(HipVirtual, StreamsAreDrivenFromTheirOwnThreads) {
  constexpr std::size_t bytes = 4096;
  const auto drive = [&](Stream& stream, Event& event, void* data, std::uint8_t value) {
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(stream.fill(data, value, bytes));
      EXPECT_TRUE(stream.record(event));
      EXPECT_TRUE(event.synchronize());
    }
  };
  const auto other = std::move(device_->create_stream()).value();
  const auto first = std::move(device_->create_event()).value();
  const auto second = std::move(device_->create_event()).value();
  const Buffer a = allocate(bytes), b = allocate(bytes);
  {
    const std::jthread one([&] { drive(*stream_, *first, a.data(), 1); });
    const std::jthread two([&] { drive(*other, *second, b.data(), 2); });
  }
  EXPECT_EQ(read<std::uint8_t>(a.data(), bytes)[bytes - 1], 1);
  EXPECT_EQ(read<std::uint8_t>(b.data(), bytes)[bytes - 1], 2);
}

TEST_P(HipVirtual, OpeningWhatIsNotThere) {
  const auto third = backend_->open(2);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().kind, ErrorKind::usage);
  EXPECT_EQ(third.error().message, "hip has 2 devices, numbered from 0: there is no 2");
  machine_.set("MI300X_DEVICES", "0");
  const auto empty = machine_.backend();
  EXPECT_EQ(empty->score(), 0);
  EXPECT_THAT(empty->absence(), HasSubstr(GetParam() == "5" ? "but no device: hipErrorInvalidDevice"
                                                            : "but no device: hipErrorNoDevice"));
  machine_.set("MI300X_DEVICES", "2");
  machine_.fail_next("hipInit", hip_no_device);
  EXPECT_THAT(machine_.backend()->absence(), HasSubstr("hipErrorNoDevice"));
}

INSTANTIATE_TEST_SUITE_P(Rocm, HipVirtual, testing::Values("5", "6", "7"));
INSTANTIATE_TEST_SUITE_P(Rocm, HipVirtualKernels, testing::Values("5", "6", "7"));

}  // namespace
}  // namespace assay

#else
TEST(HipVirtual, Facts) {
  GTEST_SKIP() << "no HIP headers (Debian: libamdhip64-dev) to build the virtual MI300X";
}
#endif
