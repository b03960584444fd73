#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <functional>

#include "support/sound_import.h"

namespace assay {
namespace {

/// Seconds of this process's own work: other programs on the machine do not count.
double work_of(const std::function<void()>& task) {
  const std::clock_t begin = std::clock();
  task();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// The text that `make` gives for each number below `count`, one after the other.
template <typename Make>
std::string repeated(int count, const Make& make) {
  std::string text;
  for (int i = 0; i < count; ++i) text += make(i);
  return text;
}

TEST(ImportWork, GrowsWithTheTextAndNotWithItsSquare) {
  constexpr int many = 30'000;
  constexpr double most_seconds = 60;  // what grows with the square takes minutes
  const std::string devices = repeated(many, [](int i) {
    return fmt::format("{}{{\"id\":{},\"name\":\"d\"}}", i > 0 ? "," : "", i);
  });
  const std::string states = repeated(many, [](int i) {
    return fmt::format("{}{{\"device\":{},\"summaries\":[]}}", i > 0 ? "," : "", many - 1);
  });
  const std::string members = repeated(19'000, [](int i) { return fmt::format(",\"k{}\":1", i); });
  const std::string addresses =
      repeated(many, [](int i) { return fmt::format(" local address: QPN {}\n", i); });
  const std::string rows =
      repeated(many, [](int i) { return fmt::format("{} 5000 97.5 97.25 0.185\n", i); });
  const std::string transfers = repeated(many, [](int) { return std::string("(G0 G0 G1) "); });
  const std::pair<const char*, std::string> texts[] = {
      {"nvbench", "{\"devices\":[" + devices + "],\"benchmarks\":[{\"states\":[" + states + "]}]}"},
      {"assay", repeated(300, [&](int) { return "{\"schema\":1" + members + "}\n"; })},
      {"perftest", " RDMA_Write BW Test\n" + addresses +
                       " #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n" +
                       rows},
      {"osu",
       "# OSU MPI Latency Test v7.3\n" +
           repeated(many, [](int i) { return fmt::format("# Number of threads{}: 1\n", i); }) +
           "# Size          Latency (us)\n" +
           repeated(many, [](int i) { return fmt::format("{} 1.5\n", i); })},
      {"transferbench", repeated(many,
                                 [](int) {
                                   return std::string(
                                       "│Ring00 Ring00│\n│Device "
                                       "GFX BW│\n│R00:0 1.5│\n");
                                 })},
      {"transferbench", "Executing (G0 -> G0 -> G*)\n" +
                            repeated(many, [](int) { return std::string("45.5 "); }) + "1 4 " +
                            transfers + "\n"},
  };
  for (const auto& [format, text] : texts) {
    const double seconds = work_of([&] {
      expect_sound(import_text({text, "file.txt"}, format), format);
    });
    EXPECT_LT(seconds, most_seconds) << format;
  }
}

}  // namespace
}  // namespace assay
