#include "serving/simulator/simulated_text.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace assay::simulator {
namespace {

constexpr std::uint32_t smallest_vocabulary = 32'000;  // of the models in presets.cpp

constexpr std::array<std::string_view, 32> words = {
    " the", " and", " for", " are", " but", " not", " you", " all", " any", " can", " had",
    " her", " was", " one", " our", " out", " day", " get", " has", " him", " his", " how",
    " man", " new", " now", " old", " see", " two", " way", " who", " did", " its"};

}  // namespace

void SimulatedText::append(std::string_view text, std::vector<std::uint32_t>& tokens) const {
  for (std::size_t i = 0; i < text.size(); i += bytes_per_token) {
    std::uint32_t token = 0;
    std::memcpy(&token, text.data() + i, std::min(bytes_per_token, text.size() - i));
    tokens.push_back(token % smallest_vocabulary);
  }
}

void SimulatedText::append_message(std::string_view, std::string_view text,
                                   std::vector<std::uint32_t>& tokens) const {
  tokens.insert(tokens.end(), {1, 2, 3, 4});
  append(text, tokens);
}

std::string_view token_text(std::uint64_t request, std::uint64_t number) {
  return words[(request * 7 + number) % words.size()];
}

}  // namespace assay::simulator
