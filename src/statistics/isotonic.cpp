#include "statistics/isotonic.h"

#include <cstddef>

namespace assay {

std::vector<double> isotonic_fit(std::span<const double> values, std::span<const double> weights) {
  struct Block {
    double mean = 0, weight = 0;
    std::size_t count = 0;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Block block{values[i], weights[i], 1};
    while (!blocks.empty() && blocks.back().mean >= block.mean) {
      const Block& before = blocks.back();
      const double weight = before.weight + block.weight;
      block = {(before.mean * before.weight + block.mean * block.weight) / weight, weight,
               before.count + block.count};
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  std::vector<double> fit;
  for (const Block& block : blocks) fit.insert(fit.end(), block.count, block.mean);
  return fit;
}

}  // namespace assay
