#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "core/json.h"
#include "support/http_client.h"
#include "support/running_engine.h"

namespace assay::engine {
namespace {

/// Bytes that this process has in memory.
std::uint64_t resident_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(EngineServer, MemoryDoesNotGrowWithRequests) {
  RunningEngine engine(tiny());
  const auto serve = [&](int requests) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        Client client(engine.port());
        for (int i = 0; i < requests / 8; ++i) {
          client.send(post("/v1/completions",
                           Json({{"prompt", prompt_of(t + i, 5)}, {"max_tokens", 2}}).dump(),
                           false));
          EXPECT_THAT(client.read_until("\"usage\""), testing::HasSubstr("\"usage\""));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  serve(16000);  // until the heap has all that requests side by side need
  const std::uint64_t before = resident_bytes();
  serve(16000);
  EXPECT_LT(resident_bytes(), before + (4 << 20));
  EXPECT_EQ(engine.server().requests(), 32000u);
  EXPECT_TRUE(engine.all_blocks_become_free());
}

}  // namespace
}  // namespace assay::engine
