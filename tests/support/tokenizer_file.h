// Files of tokenizers, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"

namespace assay {

inline constexpr const char* llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Returns how a byte-level vocabulary writes a byte.
inline std::string written(unsigned byte) {
  const bool printable =
      (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
  unsigned code = byte;
  if (!printable) code = 0x100 + (byte <= 0x20 ? byte : byte <= 0xA0 ? byte - 0x7F + 33 : 67);
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

/// Returns a tokenizer.json like Llama 3's, with bytes as tokens 0 to 255 and these merges from 256
/// on.
inline Json llama_like(const std::vector<std::pair<std::string, std::string>>& merges) {
  Json vocabulary = Json::object(), list = Json::array();
  for (unsigned byte = 0; byte < 256; ++byte) vocabulary[written(byte)] = byte;
  for (const auto& [left, right] : merges) {
    vocabulary[left + right] = vocabulary.size();
    list.push_back(left + " " + right);
  }
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", llama3_pattern}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  const Json level = {{"type", "ByteLevel"},
                      {"add_prefix_space", false},
                      {"trim_offsets", true},
                      {"use_regex", false}};
  return {{"version", "1.0"},
          {"added_tokens", Json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {split, level}}}},
          {"post_processor", level},
          {"decoder", level},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"ignore_merges", false},
            {"vocab", vocabulary},
            {"merges", list}}}};
}

inline Json added(std::int32_t id, const char* content, bool special) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

}  // namespace assay
