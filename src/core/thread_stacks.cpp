#include "core/thread_stacks.h"

#include <pthread.h>

namespace assay {

void ensure_thread_stacks() {
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  std::size_t bytes = 0;
  if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < least_thread_stack &&
      pthread_attr_setstacksize(&attributes, least_thread_stack) == 0) {
    pthread_setattr_default_np(&attributes);
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace assay
