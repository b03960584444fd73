// Holds a stream until the host opens the gate, so that work and its events are all queued before
// the device starts (docs/method.md). Gives up after a time limit, so that a lost host never hangs
// the device.
#include "dialect.h"

/// state[0]: the host writes 1 to open. state[1]: set to 1 if the gate gave up after `ticks` of
/// wall_ticks(). One thread of one block.
KERNEL(gate, u32* state, u64 ticks) {
  if (thread_index() != 0) return;
  const u64 start = wall_ticks();
  while (observe(state) == 0) {
    if (wall_ticks() - start > ticks) {
      publish(state + 1, u32{1});
      return;
    }
    relax();
  }
}
