#include "emulator/instruction.h"

namespace mi300x {

const OperationTable& all_operations() {
  static const OperationTable table = [] {
    OperationTable all;
    add_scalar_operations(all);
    add_program_operations(all);
    add_vector_operations(all);
    add_matrix_operations(all);
    add_global_memory_operations(all);
    add_local_memory_operations(all);
    return all;
  }();
  return table;
}

}  // namespace mi300x
