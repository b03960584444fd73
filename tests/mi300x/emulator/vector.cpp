#include "emulator/vector_operation.h"

namespace mi300x {

void add_vector_operations(OperationTable& operations) {
  const VectorTable table(operations);
  add_moves(table);
  add_integers(table);
  add_floats(table);
  add_transcendentals(table);
  add_divisions(table);
  add_conversions(table);
  add_comparisons(table);
  add_packed(table);
  add_dots(table);
}

}  // namespace mi300x
