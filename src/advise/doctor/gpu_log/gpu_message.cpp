#include "advise/doctor/gpu_log/gpu_message.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::string_view find_the_amd_kernel =
    "find the kernel: HSA_TOOLS_LIB=/opt/rocm/lib/librocm-debug-agent.so.2 HSA_ENABLE_DEBUG=1 "
    "PROGRAM 2> "
    "agent.log, then assay doctor --explain agent.log\n"
    "launch kernels one after the other, so that the fault follows its launch: "
    "AMD_SERIALIZE_KERNEL=3 "
    "AMD_LOG_LEVEL=3 PROGRAM\n"
    "if it only happens in one version of a library or with one algorithm, leave that out; `assay "
    "help memory-faults` lists the variables";
constexpr std::string_view find_the_nvidia_kernel =
    "find the kernel and its line: compute-sanitizer --tool memcheck PROGRAM\n"
    "or launch kernels one after the other, so that the failing call is named: "
    "CUDA_LAUNCH_BLOCKING=1 "
    "PROGRAM";
constexpr std::string_view replace_amd_memory =
    "look whether it returns: dmesg -w; amd-smi metric --ecc\n"
    "test the memory: assay health sdc --only memory --duration 10min\n"
    "drain the node and ask for a replacement if uncorrectable errors return after a reset";

// The order matters: a line of a page fault also contains marks of more general kinds.
constexpr std::array<GpuMessage, 25> marked = {{
    {"amdgpu-page-fault", "page fault (src_id",
     "the GPU accessed an address that is not mapped for it",
     "A kernel, or a copy engine, used a pointer beyond its buffer, after it was freed, or of the "
     "host. "
     "The driver ends the process. Damaged hardware is the cause only if sound programs fault, "
     "too.",
     find_the_amd_kernel},
    {"rocr-memory-fault", "emory access fault by GPU",
     "a kernel accessed memory that it may not use",
     "ROCm's runtime was told of a page fault and ends the process. dmesg has the same fault with "
     "the unit "
     "of the GPU and whether it was a load or a store.",
     find_the_amd_kernel},
    {"agent-wave", "(stopped, reason:", "waves of a kernel were stopped by an error",
     "ROCm's debug agent shows the waves that caused it. The instruction behind the arrow is the "
     "one that "
     "failed, or one shortly after it: memory errors are reported late.",
     "compile the kernel with -ggdb -O0 to see its source lines\n"
     "for a kernel made at run time: ROCM_DEBUG_AGENT_OPTIONS=\"--all --save-code-objects\", then "
     "llvm-objdump -d FILE; assay occupancy FILE names its kernels"},
    {"hsa-illegal-instruction", "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION",
     "a kernel contains an instruction that this GPU does not have",
     "The code was compiled for another GPU, or HSA_OVERRIDE_GFX_VERSION makes the runtime load "
     "code of "
     "another one. A jump into data looks the same.",
     "compare the GPU with the code: rocminfo | grep gfx; assay occupancy FILE\n"
     "unset HSA_OVERRIDE_GFX_VERSION, or build for the GPU at hand"},
    {"hsa-aperture", "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION",
     "a kernel used an address outside of every kind of memory",
     "A flat address is in no aperture: usually a pointer that was never set, or arithmetic that "
     "overflowed.",
     find_the_amd_kernel},
    {"hsa-exception", "HSA_STATUS_ERROR_EXCEPTION", "a kernel raised a hardware exception",
     "Its code 0x1016 also stands for memory errors. abort(), a failed assertion and "
     "__builtin_trap() end a "
     "kernel like this, too.",
     find_the_amd_kernel},
    {"rocr-hang", "HW Exception by GPU node", "the GPU hung and was reset",
     "A kernel did not end, or the scheduler of the GPU did not answer. All work on the device is "
     "lost.",
     "look for what came first in dmesg: assay doctor --explain dmesg.txt\n"
     "run each kernel alone: AMD_SERIALIZE_KERNEL=3"},
    {"amdgpu-uncorrectable", "uncorrectable hardware errors detected in",
     "the GPU's memory or caches had an error that could not be corrected",
     "Data was lost. The driver retires the page, and ends what used it.", replace_amd_memory},
    {"amdgpu-deferred", "deferred hardware errors detected in",
     "the GPU's memory has damaged data that no program has read yet",
     "The error could not be corrected, and the data are marked. The driver retires the page. A "
     "program that reads the data before that is ended.",
     replace_amd_memory},
    {"amdgpu-poison", "poison is consumed", "a program read data that was marked as damaged",
     "An uncorrectable error happened before; the reader was ended so that wrong data is not used.",
     replace_amd_memory},
    {"amdgpu-correctable", "correctable hardware errors detected in",
     "the GPU corrected errors of its memory or caches",
     "A few are normal. Many in one place come before uncorrectable ones.",
     "count them per day: amd-smi metric --ecc; assay watch"},
    {"amdgpu-lost", "device lost from bus", "the GPU does not answer on its PCIe bus",
     "Power, heat, the slot or the device itself failed.",
     "cold start of the node (power off)\n"
     "afterwards: assay doctor --only pcie-link; look at the BMC's event log; replace the GPU if "
     "it returns"},
    {"amdgpu-ring-timeout", " timeout, signaled seq", "a queue of the GPU made no progress",
     "A kernel does not end, or an earlier page fault stopped the queue: the first message tells.",
     "look at what came before it in the log\n"
     "a kernel that waits for others may need more room: fewer blocks, or a cooperative launch"},
    {"amdgpu-mes", "MES failed to respond", "the GPU's scheduler firmware did not answer",
     "The queues of all processes on this GPU stop until a reset. Mismatched firmware and driver "
     "are a "
     "frequent cause.",
     "compare driver and firmware with ROCm's matrix: assay doctor; update both\n"
     "reset the GPU when nothing uses it: amd-smi reset --gpureset -g N"},
    {"amdgpu-preemption", "unsuccessful queues preemption",
     "the driver could not take a kernel off the GPU",
     "A kernel does not reach a point where it can be interrupted, or the scheduler firmware "
     "hangs.",
     "look at what came before it in the log\nreset the GPU when nothing uses it: amd-smi reset "
     "--gpureset -g N"},
    {"amdgpu-reset-failed", "GPU reset end with ret", "the driver reset the GPU",
     "Every process on it lost its work. A status other than 0 says that the reset failed.",
     "look at what came before it in the log; after a failed reset, restart the node"},
    {"amdgpu-reset", "GPU reset begin", "the driver resets the GPU",
     "Every process on it loses its work.", "look at what came before it in the log"},
    {"cuda-illegal-access", "an illegal memory access was encountered",
     "a kernel accessed memory that it may not use",
     "CUDA or HIP reports it at a later call than the one that launched the kernel.",
     "NVIDIA: compute-sanitizer --tool memcheck PROGRAM, or CUDA_LAUNCH_BLOCKING=1 PROGRAM\n"
     "AMD: HSA_TOOLS_LIB=/opt/rocm/lib/librocm-debug-agent.so.2 HSA_ENABLE_DEBUG=1 PROGRAM"},
    {"cuda-misaligned", "misaligned address",
     "a kernel used an address that is not aligned for its access",
     "Vector loads need addresses that are multiples of their size; a slice of a tensor may begin "
     "elsewhere.",
     find_the_nvidia_kernel},
    {"cuda-assert", "device-side assert triggered", "an assertion in a kernel failed",
     "In PyTorch it is mostly an index out of range: a token id beyond the vocabulary, a label "
     "beyond the "
     "classes.",
     "CUDA_LAUNCH_BLOCKING=1 PROGRAM (NVIDIA), AMD_SERIALIZE_KERNEL=3 PROGRAM (AMD), or the same "
     "step on "
     "the CPU, names the call"},
    {"cuda-launch-failure", "unspecified launch failure", "a kernel was ended by an error",
     "Mostly an access to shared or local memory out of range.", find_the_nvidia_kernel},
    {"gpu-out-of-memory", "out of memory. Tried to allocate", "the GPU's memory is full",
     "The program needs more than is free; other processes and fragments count.",
     "who uses it: assay watch; nvidia-smi; amd-smi process\n"
     "what fits: assay run finetune --dry-run and assay serve say what a model needs"},
    {"host-out-of-memory", "Out of memory: Killed process",
     "the kernel ended a process for lack of host memory",
     "The host, or the control group of a container, has less memory than the program needs.",
     "give the container more memory, use fewer workers that load data, or pin less"},
    {"pcie-fatal", "severity=Uncorrected (Fatal)",
     "a PCIe link had an error that cannot be repaired",
     "The device behind it is lost until a reset; power, cable, riser or slot are frequent causes.",
     "assay doctor --only pcie-link\nrestart the node; reseat or replace if it returns"},
    {"pcie-corrected", "severity=Corrected", "a PCIe link repeated packets",
     "A few are normal. A steady stream makes copies slow and comes before fatal errors.",
     "assay doctor --only pcie-link; assay run copy finds slow links"},
}};

struct Xid {
  int number;
  GpuMessage message;
};

constexpr std::string_view reset_nvidia =
    "reset it when nothing uses it: nvidia-smi --gpu-reset -i N; restart the "
    "node if that fails\ndrain the node and ask for a replacement if it returns";
constexpr std::string_view caused_by_earlier =
    "look at the message before it in the log, which is the cause";

// By NVIDIA's catalogue of Xids for A100 and later.
constexpr std::array<Xid, 24> xids = {{
    {13,
     {"xid-13", "", "a kernel raised an exception",
      "An illegal instruction or an access out of range; the "
      "program is the usual cause, the hardware if sound programs fail too.",
      find_the_nvidia_kernel}},
    {31,
     {"xid-31", "", "a kernel accessed an address that is not mapped",
      "A pointer beyond its buffer, or of "
      "freed memory; the program or a library is the usual cause.",
      find_the_nvidia_kernel}},
    {32,
     {"xid-32", "", "the driver sent a damaged command",
      "The PCIe link damaged it, or the driver is at fault.",
      "assay doctor --only pcie-link\nupdate the driver"}},
    {43,
     {"xid-43", "", "a program's channel was stopped after its error", "The GPU itself is sound.",
      find_the_nvidia_kernel}},
    {45,
     {"xid-45", "", "a program's channel was removed",
      "The process ended or was killed, or an earlier error "
      "stopped it.",
      caused_by_earlier}},
    {46,
     {"xid-46", "", "the GPU stopped working on a channel",
      "A kernel does not end, or the hardware hangs.", reset_nvidia}},
    {48,
     {"xid-48", "", "memory had an error in two bits",
      "Data was lost; the driver replaces the row at the next "
      "reset.",
      reset_nvidia}},
    {61,
     {"xid-61", "", "an internal controller stopped at a breakpoint", "Firmware or hardware.",
      reset_nvidia}},
    {62, {"xid-62", "", "an internal controller halted", "Firmware or hardware.", reset_nvidia}},
    {63,
     {"xid-63", "", "a damaged row of memory was replaced",
      "The replacement takes effect at the next reset.",
      "reset it when nothing uses it: nvidia-smi --gpu-reset -i N"}},
    {64,
     {"xid-64", "", "a damaged row of memory could not be replaced",
      "No spare rows are left, or the record "
      "could not be written.",
      "drain the node and ask for a replacement"}},
    {69,
     {"xid-69", "", "a channel got a command that its class does not have",
      "The driver or a library is at "
      "fault.",
      "update the driver and the CUDA libraries"}},
    {74,
     {"xid-74", "", "an NVLink failed", "A link, a bridge, a switch, or the GPU at its other end.",
      "which link: nvidia-smi nvlink -e -i N; assay run peers\nreset the GPUs of the link "
      "together; replace "
      "what fails again"}},
    {79,
     {"xid-79", "", "the GPU has fallen off the bus",
      "It does not answer on PCIe: power, heat, the slot or the "
      "device itself failed.",
      "cold start of the node (power off)\nlook at the BMC's event log; replace the GPU "
      "if it returns"}},
    {92,
     {"xid-92", "", "memory has many errors of one bit", "They were corrected; more will follow.",
      "nvidia-smi -q -d ECC,ROW_REMAPPER; ask for a replacement if the rate grows"}},
    {94,
     {"xid-94", "", "an error in memory was contained",
      "Only the process that used the memory was ended.",
      "start the program again\nreset the GPU soon, so that the row is replaced: nvidia-smi "
      "--gpu-reset -i N"}},
    {95,
     {"xid-95", "", "an error in memory was not contained",
      "Any process on this GPU may have used wrong data.", reset_nvidia}},
    {109,
     {"xid-109", "", "a context switch took too long",
      "A kernel cannot be interrupted, or the GPU hangs.", reset_nvidia}},
    {119,
     {"xid-119", "", "the GPU's system processor did not answer",
      "Firmware: all work on the GPU stops.", reset_nvidia}},
    {120,
     {"xid-120", "", "the GPU's system processor failed", "Firmware: all work on the GPU stops.",
      reset_nvidia}},
    {137,
     {"xid-137", "", "an access over NVLink was refused",
      "A process of another GPU or node used memory that it "
      "may not.",
      find_the_nvidia_kernel}},
    {140,
     {"xid-140", "", "an uncorrectable error in memory was found by several counters",
      "Data was lost.", reset_nvidia}},
    {143,
     {"xid-143", "", "the GPU could not be started", "It failed its own tests.", reset_nvidia}},
    {154,
     {"xid-154", "", "the driver says what this GPU needs",
      "The line itself names the action: a reset, a "
      "restart of the node, or none.",
      "do what the line says"}},
}};

constexpr GpuMessage other_xid = {"xid", "",
                                  "NVIDIA's driver reports an error that is not in this table",
                                  "NVIDIA's catalogue of Xids lists all of them.",
                                  "look at docs.nvidia.com/deploy/xid-errors\n"
                                  "nvidia-smi -q; assay doctor"};

}  // namespace

std::span<const GpuMessage> marked_gpu_messages() {
  return marked;
}

const GpuMessage& xid_message(int xid) {
  const auto at =
      std::find_if(xids.begin(), xids.end(), [xid](const Xid& one) { return one.number == xid; });
  return at == xids.end() ? other_xid : at->message;
}

}  // namespace assay
