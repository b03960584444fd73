// The mean loss of each step of a training run, kept on the device.
// step_state.h asks whether this is device code.
#include "wave.h"

#include "step_state.h"

/// Adds to history[step] this rank's passes' part of the step's mean loss; pass `first` overwrites
/// the entry instead. Steps beyond `length` wrap around. Grid: one block.
KERNEL(record_loss, float* history, const float* losses, BatchChoice choice, u64 rows, u64 length,
       int first) {
  SHARED float scratch[most_waves];
  float total = 0;
  for (u64 i = thread_index(); i < rows; i += block_threads()) total += losses[i];
  total = block_reduce(total, Sum{}, scratch);
  if (thread_index() != 0) return;
  float* const place = history + choice.state->step % length;
  const float mean = total / choice.step_targets(rows);
  *place = first != 0 ? mean : *place + mean;
}
