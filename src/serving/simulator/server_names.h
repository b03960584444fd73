// The simulated server is a server: it calls the parts that it shares with the real one by their
// names.
#pragma once

namespace assay {
namespace server {}
namespace simulator {
using namespace server;  // NOLINT(google-build-using-namespace): see above
}
}  // namespace assay
