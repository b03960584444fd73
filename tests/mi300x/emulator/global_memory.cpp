// GLOBAL, FLAT and SCRATCH.
#include <deque>
#include <mutex>

#include "emulator/memory_operations.h"

namespace mi300x {

std::string_view lasting(std::string name) {
  static std::mutex mutex;
  static std::deque<std::string> names;
  const std::lock_guard lock(mutex);
  return names.emplace_back(std::move(name));
}

void add_global_memory_operations(OperationTable& table) {
  add_loads_and_stores<GlobalSpace>(table, "global", Unit::global);
  add_loads_to_local<GlobalSpace>(table, "global", Unit::global);
  add_atomics<GlobalSpace>(table, "global", Unit::global);
  add_loads_and_stores<FlatSpace>(table, "flat", Unit::flat);
  add_atomics<FlatSpace>(table, "flat", Unit::flat);
  add_loads_and_stores<ScratchSpace>(table, "scratch", Unit::scratch);
  add_loads_to_local<ScratchSpace>(table, "scratch", Unit::scratch);
  add_buffer_operations(table);
  add_scalar_memory_operations(table);
}

}  // namespace mi300x
