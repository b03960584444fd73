#include "advise/health/sdc.h"

namespace assay::health {

Result<SdcOutcome> check_corruption(const SdcPlan&, Device&, Team&) {
  return Error{ErrorKind::unsupported, "work in progress"};
}

}  // namespace assay::health
