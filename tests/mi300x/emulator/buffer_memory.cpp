// BUFFER instructions, and the cache instructions that share their encoding.
#include "emulator/memory_operations.h"

namespace mi300x {
namespace {

/// Does nothing. Caches are not modelled: every access goes to memory, so write-back and
/// invalidation have no visible effect.
void keep_caches(Wave&, const Instruction&) {}

/// A load; the same operation loads into LDS if its text has the modifier.
template <Format format>
void load_anywhere(Wave& wave, const Instruction& instruction) {
  if (instruction.lds)
    load_to_local<BufferSpace, format>(wave, instruction);
  else
    load<BufferSpace, format>(wave, instruction);
}

}  // namespace

void add_buffer_operations(OperationTable& table) {
  add_loads_and_stores<BufferSpace>(table, "buffer", Unit::global);
  add_atomics<BufferSpace>(table, "buffer", Unit::global);
  const auto replace = [&](const char* name, Execute execute) {
    add_operation(table, name, Unit::global, 1, execute);
  };
  replace("buffer_load_ubyte", load_anywhere<Format{1}>);
  replace("buffer_load_sbyte", load_anywhere<Format{1, true}>);
  replace("buffer_load_ushort", load_anywhere<Format{2}>);
  replace("buffer_load_sshort", load_anywhere<Format{2, true}>);
  replace("buffer_load_dword", load_anywhere<Format{4}>);
  for (const char* name :
       {"buffer_inv", "buffer_wbl2", "buffer_invl2", "buffer_wbinvl1", "buffer_wbinvl1_vol"})
    add_operation(table, name, Unit::global, 0, keep_caches);
}

}  // namespace mi300x
