#include "results/record/sample.h"

namespace assay {

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::precision:
      return "precision";
    case StopReason::time_box:
      return "time_box";
    case StopReason::sample_limit:
      return "sample_limit";
    case StopReason::interrupted:
      return "interrupted";
    case StopReason::warm:
      return "warm";
    case StopReason::not_run:
      return "not_run";
  }
  return "";
}

}  // namespace assay
