// The simulated server shares code with the real one, which is in the namespace `server`. This
// header makes those names visible in the namespace `simulator`.
#pragma once

namespace assay {
namespace server {}
namespace simulator {
using namespace server;  // NOLINT(google-build-using-namespace): see above
}
}  // namespace assay
