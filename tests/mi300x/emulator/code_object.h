// A code object in memory: its kernels, their descriptors, its instructions decoded.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/elf_image.h"
#include "emulator/emulator.h"
#include "emulator/instruction.h"

namespace mi300x {

/// What the kernel descriptor (64 bytes, NAME.kd) requests from the hardware, in the order in which
/// the hardware fills scalar registers. The fields are those of LLVM's AMDGPUUsage.
struct KernelDescriptor {
  u32 shared_bytes = 0, scratch_bytes = 0, argument_bytes = 0;
  u32 entry = 0;               ///< index of its first instruction in CodeObject::code
  u32 accumulator_offset = 0;  ///< VGPRs before the accumulation registers begin
  // First come user SGPRs, then system SGPRs.
  bool private_segment_buffer = false, dispatch_pointer = false, queue_pointer = false,
       kernarg_pointer = false, dispatch_id = false, flat_scratch = false,
       private_segment_size = false;
  u32 user_registers = 0;                       ///< total number of user SGPRs
  u32 preloaded_words = 0, preload_offset = 0;  ///< kernel arguments in user SGPRs (gfx942)
  bool group_id_x = false, group_id_y = false, group_id_z = false, group_info = false,
       private_wave_offset = false;
  u32 item_ids = 0;  ///< 0: x, 1: x y, 2: x y z, packed into v0, 10 bits each
  u32 mode = 0;      ///< initial HW_REG_MODE: rounding and denormals
};

struct Price;  // time_model.h: what an instruction costs

struct Kernel {
  KernelInfo info;
  KernelDescriptor descriptor;
};

class CodeObject final : public Module {
 public:
  /// Registers the image with MemoryMap; the destructor removes it.
  explicit CodeObject(ElfImage loaded);
  CodeObject(const CodeObject&) = delete;
  CodeObject& operator=(const CodeObject&) = delete;
  ~CodeObject() override;

  const KernelInfo* kernel(const std::string& name) const override;
  void* variable(const std::string& name, std::size_t* bytes) const override;

  /// Returns the index in `code` of the instruction at an address; throws Fault (illegal_address).
  u32 index_of(u64 address) const;

  std::map<std::string, Kernel> kernels;
  std::vector<Instruction> code;  ///< of all kernels and functions, by address
  std::unordered_map<u64, u32> indices;
  ElfImage image;  ///< the loaded segments; addresses of instructions point into them
  std::map<std::string, std::pair<u64, u64>> variables;  ///< address and size
  /// The price of each instruction; computed at the first launch.
  mutable std::shared_ptr<const std::vector<Price>> prices;
};

/// Decodes one line of llvm-objdump ("v_add_f32_e32 v1, s2, v3") into `instruction`, except for
/// what depends on other lines: address, branch target, source line. Throws Fault
/// (unknown_instruction) with the text.
Instruction decode(std::string_view text, const std::string& arch);

}  // namespace mi300x
