// The mean loss of each step of a training run, kept on the device.
#include "step_state.h"
#include "wave.h"

/// history[step] = what this rank's passes add to the mean loss of the step; one block. The `first`
/// one begins anew. Steps beyond `length` begin at its start again.
KERNEL(record_loss, float* history, const float* losses, BatchChoice choice, u64 rows, u64 length,
       int first) {
  SHARED float scratch[most_waves];
  float total = 0;
  for (u64 i = thread_index(); i < rows; i += block_threads()) total += losses[i];
  total = block_reduce(total, Sum{}, scratch);
  if (thread_index() != 0) return;
  float* const place = history + choice.state->step % length;
  const float mean = total / static_cast<float>(rows * choice.accumulate);
  *place = first != 0 ? mean : *place + mean;
}
