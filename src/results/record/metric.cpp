#include "results/record/metric.h"

namespace assay {

std::string_view name_of(Better better) {
  switch (better) {
    case Better::higher:
      return "higher";
    case Better::lower:
      return "lower";
    case Better::neither:
      break;
  }
  return "neither";
}

}  // namespace assay
