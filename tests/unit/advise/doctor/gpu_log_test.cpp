// assay doctor --explain: errors of GPUs in logs.
#include "advise/doctor/gpu_log/gpu_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "cli/advise/gpu_log_view.h"
#include "core/json.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<GpuLogEvent> events_of(std::string_view text) {
  GpuLog log;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    log.add(text.substr(0, end));
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return log.finish();
}

constexpr std::string_view page_faults =
    R"([ 4778.915423] amdgpu 0000:c6:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 pasid:32769)
[ 4778.915500] amdgpu 0000:c7:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:3, for process copier pid 77 thread copier pid 77)
[ 4778.916081] amdgpu 0000:c6:00.0: amdgpu:  for process python3 pid 12924 thread python3 pid 12924)
[ 4778.916571] amdgpu 0000:c6:00.0: amdgpu:   in page starting at address 0x0000ae8570611000 from IH client 0x1b (UTCL2)
[ 4778.917054] amdgpu 0000:c6:00.0: amdgpu: VM_L2_PROTECTION_FAULT_STATUS:0x00301031
[ 4778.917532] amdgpu 0000:c6:00.0: amdgpu: 	 Faulty UTCL2 client ID: TCP (0x8)
[ 4778.917540] amdgpu 0000:c7:00.0: amdgpu: 	 Faulty UTCL2 client ID: SDMA0 (0x3)
[ 4778.919882] amdgpu 0000:c6:00.0: amdgpu: 	 RW: 0x1
[ 4778.920325] amdgpu 0000:c6:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 pasid:32769)
[ 4778.920781] amdgpu 0000:c6:00.0: amdgpu:  for process python3 pid 12924 thread python3 pid 12924)
[ 4778.921242] amdgpu 0000:c6:00.0: amdgpu:   in page starting at address 0x0000ae8570612000 from IH client 0x1b (UTCL2)
[ 4778.921713] amdgpu 0000:c6:00.0: amdgpu: VM_L2_PROTECTION_FAULT_STATUS:0x00000000
[ 4778.922182] amdgpu 0000:c6:00.0: amdgpu: 	 Faulty UTCL2 client ID: CB (0x0)
[ 4778.922190] amdgpu 0000:c6:00.0: amdgpu: 	 RW: 0x0
)";

TEST(GpuLog, PageFaultsOfTwoDevicesWhoseLinesAreMixed) {
  const auto events = events_of(page_faults);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].message->id, "amdgpu-page-fault");
  EXPECT_EQ(events[0].device, "0000:c6:00.0");
  EXPECT_EQ(events[0].process, "python3 (pid 12924)");
  EXPECT_EQ(events[0].address, "0x0000ae8570611000");
  EXPECT_EQ(events[0].unit, "TCP");
  EXPECT_EQ(events[0].access, "store");
  EXPECT_EQ(events[0].count, 2u);
  EXPECT_EQ(events[0].line, 1u);
  EXPECT_EQ(events[1].device, "0000:c7:00.0");
  EXPECT_EQ(events[1].process, "copier (pid 77)");
  EXPECT_EQ(events[1].unit, "SDMA0");
  EXPECT_EQ(events[1].access, "");
}

TEST(GpuLog, ARepeatedPageFaultHasNoStatus) {
  const std::string_view second = page_faults.substr(page_faults.find("[ 4778.920325]"));
  const auto events = events_of(second);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].unit, "") << "unit 0 is also what the driver prints without a status";
  EXPECT_EQ(events[0].access, "");
}

TEST(GpuLog, TheRuntimesOfTwoVersions) {
  const auto six = events_of(
      "Memory access fault by GPU node-2 (Agent handle: 0x5640a8bb1980) on address 0x7feea09c5000. "
      "Reason: Page not present or supervisor privilege.\n");
  ASSERT_EQ(six.size(), 1u);
  EXPECT_EQ(six[0].message->id, "rocr-memory-fault");
  EXPECT_EQ(six[0].device, "GPU node-2");
  EXPECT_EQ(six[0].address, "0x7feea09c5000");
  EXPECT_EQ(six[0].reason, "Page not present or supervisor privilege");
  const auto seven = events_of(
      "OFFLOAD ERROR: memory access fault by GPU 4 (agent 0x55) at virtual address 0x7f0. Reasons: "
      "x\n");
  ASSERT_EQ(seven.size(), 1u);
  EXPECT_EQ(seven[0].device, "GPU 4");
  EXPECT_EQ(seven[0].address, "0x7f0");
}

TEST(GpuLog, TheDebugAgentNamesKernelCodeAndLine) {
  const auto events = events_of(R"(wave_1: pc=0x7fd4f100d0e8 (stopped, reason: MEMORY_VIOLATION)
Disassembly for function vector_add(int*, int*, int*):
    code object: file:///opt/app#offset=14309&size=31336
    loaded at: [0x7fd4f100c000-0x7fd4f100e070]
/src/vector_add.cpp:
52    int i = threadIdx.x;
    0x7fd4f100d0e0 <+224>:    v_mov_b32_e32 v0, 0
53    c[i] = a[i] + b[i];
 => 0x7fd4f100d0e8 <+232>:    global_store_dword v[0:1], v2, off
54    }
)");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].reason, "MEMORY_VIOLATION");
  EXPECT_EQ(events[0].kernel, "vector_add(int*, int*, int*)");
  EXPECT_EQ(events[0].code, "file:///opt/app#offset=14309&size=31336");
  EXPECT_EQ(events[0].source, "/src/vector_add.cpp:53");
}

TEST(GpuLog, WavesOfTwoKernelsAreTwoEvents) {
  const auto events = events_of(
      "wave_1: pc=0x7f (kernel_code_entry=0x7e <scale<float>(float*)>, kernargs=0x1) (stopped, "
      "reason: "
      "MEMORY_VIOLATION)\n"
      "wave_2: pc=0x7f (kernel_code_entry=0x7e <scale<float>(float*)>, kernargs=0x1) (stopped, "
      "reason: "
      "MEMORY_VIOLATION)\n"
      "wave_3: pc=0x7f (kernel_code_entry=0x7e <other()>, kernargs=0x1) (stopped, reason: "
      "MEMORY_VIOLATION)\n");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kernel, "scale<float>(float*)");
  EXPECT_EQ(events[0].count, 2u);
  EXPECT_EQ(events[1].kernel, "other()");
}

TEST(GpuLog, XidsWithTheirProcessAndAddress) {
  const auto events = events_of(
      "[1.0] NVRM: Xid (PCI:0000:1b:00): 31, pid=1896, name=python3, Ch 00000008, intr 00000000. "
      "MMU Fault: "
      "ENGINE GRAPHICS GPC1 GPCCLIENT_T1_2 faulted @ 0x7f5d_5c000000. Fault is of type FAULT_PDE "
      "ACCESS_TYPE_VIRT_WRITE\n"
      "[2.0] NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off "
      "the bus.\n"
      "[3.0] NVRM: Xid (PCI:0000:5d:00): 4242, odd\n");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].message->id, "xid-31");
  EXPECT_EQ(events[0].device, "0000:1b:00");
  EXPECT_EQ(events[0].process, "python3 (pid 1896)");
  EXPECT_EQ(events[0].address, "0x7f5d5c000000");
  EXPECT_EQ(events[0].access, "store");
  EXPECT_EQ(events[1].message->id, "xid-79");
  EXPECT_EQ(events[1].process, "");
  EXPECT_EQ(events[2].message->id, "xid");
}

TEST(GpuLog, HardwareErrorsOfThreeKinds) {
  const auto events = events_of(
      "amdgpu 0000:c6:00.0: {7}socket: 0, die: 1, "
      "2 new correctable hardware errors detected in umc block\n"
      "amdgpu 0000:c6:00.0: {8}socket: 0, die: 1, "
      "1 new deferred hardware errors detected in umc block\n"
      "amdgpu 0000:c6:00.0: {9}socket: 0, die: 1, "
      "1 new uncorrectable hardware errors detected in gfx block\n");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].message->id, "amdgpu-correctable");
  EXPECT_EQ(events[1].message->id, "amdgpu-deferred");
  EXPECT_EQ(events[2].message->id, "amdgpu-uncorrectable");
}

TEST(GpuLog, MarksAndIdsAreDistinct) {
  std::set<std::string_view> ids;
  for (const GpuMessage& message : marked_gpu_messages()) {
    EXPECT_TRUE(ids.insert(message.id).second) << message.id;
    EXPECT_FALSE(message.mark.empty()) << message.id << " would apply to every line";
    EXPECT_FALSE(message.next.empty()) << message.id;
    EXPECT_EQ(events_of(message.mark).front().message->id, message.id)
        << "another message is recognised first";
  }
}

TEST(GpuLog, AnyTextIsRead) {
  for (std::size_t length = 0; length <= page_faults.size(); ++length) {
    static_cast<void>(events_of(page_faults.substr(0, length)));
  }
  std::mt19937 random(1);
  GpuLog log;
  for (int i = 0; i < 2000; ++i) {
    std::string line(page_faults.substr(random() % page_faults.size(), 300));
    std::erase(line, '\n');
    for (int change = 0; change < 3 && !line.empty(); ++change) {
      line[random() % line.size()] = static_cast<char>(random());
    }
    log.add(line);
  }
  EXPECT_EQ(log.lines(), 2000u);
  EXPECT_LE(log.finish().size(), GpuLog::most_events);
}

TEST(GpuLog, TextOfTheLogCannotChangeTheTerminal) {
  const auto events =
      events_of("Memory access fault by GPU node-2\x1b[31m (Agent) on address 0x7f.\n");
  const std::string text = cli::gpu_log_text(events, 1, 80, cli::Style(false));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("1 kind of error of GPUs in 1 line\n"));
  EXPECT_THAT(text, HasSubstr("1. find the kernel: HSA_TOOLS_LIB="));
  EXPECT_EQ(cli::gpu_log_text({}, 3, 80, cli::Style(false)),
            "no known error of a GPU in 3 lines\n");
  EXPECT_EQ(cli::gpu_log_json(events, 1)["events"][0]["id"], "rocr-memory-fault");
}

TEST(GpuLog, NobodyIsToldToFindAKernelThatTheLogNames) {
  const auto events = events_of(
      "Memory access fault by GPU node-2 (Agent) on address 0x7f.\n"
      "Disassembly for function add(int*, int*):\n");
  const std::string text = cli::gpu_log_text(events, 2, 80, cli::Style(false));
  EXPECT_THAT(text, HasSubstr("add(int*, int*)"));
  EXPECT_THAT(text, Not(HasSubstr("find the kernel: ")));
  EXPECT_THAT(text, HasSubstr("1. launch kernels one after the other"));
  EXPECT_THAT(cli::gpu_log_json(events, 2)["events"][0]["next"].get<std::string>(),
              testing::StartsWith("launch kernels one after the other"));
}

}  // namespace
}  // namespace assay
