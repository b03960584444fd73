#include "serving/engine/byte_text.h"

#include <fmt/format.h>

#include <iterator>

namespace assay::engine {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

/// How many bytes a character has that begins with `byte`; 0: none does.
int length_of(unsigned char byte) {
  if (byte < 0x80) return 1;
  if (byte >= 0xC2 && byte < 0xE0) return 2;
  if (byte >= 0xE0 && byte < 0xF0) return 3;
  return byte >= 0xF0 && byte < 0xF5 ? 4 : 0;
}

/// Whether `byte` may be the second of a character: not of a surrogate, nor too long a form.
bool may_be_second(unsigned char first, unsigned char byte) {
  switch (first) {
    case 0xE0:
      return byte >= 0xA0;
    case 0xED:
      return byte < 0xA0;
    case 0xF0:
      return byte >= 0x90;
    case 0xF4:
      return byte < 0x90;
    default:
      return true;
  }
}

class ByteStream final : public server::TextStream {
 public:
  void append(std::uint32_t token, std::string& text) override {
    if (token >= ByteText::bytes) {
      end(text);
      fmt::format_to(std::back_inserter(text), "<|{}|>", token);
      return;
    }
    const auto byte = static_cast<unsigned char>(token);
    if (!begun_.empty()) {
      const auto first = static_cast<unsigned char>(begun_.front());
      if ((byte & 0xC0) == 0x80 && (begun_.size() > 1 || may_be_second(first, byte))) {
        begun_ += static_cast<char>(byte);
        if (static_cast<int>(begun_.size()) == length_of(first)) {
          text += begun_;
          begun_.clear();
        }
        return;
      }
      end(text);
    }
    const int length = length_of(byte);
    if (length == 1) {
      text += static_cast<char>(byte);
    } else if (length == 0) {
      text += replacement;
    } else {
      begun_ = static_cast<char>(byte);
    }
  }

  void end(std::string& text) override {
    if (!begun_.empty()) text += replacement;
    begun_.clear();
  }

 private:
  std::string begun_;  // the bytes of a character that is not complete
};

}  // namespace

void ByteText::append(std::string_view text, std::vector<std::uint32_t>& tokens) const {
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
}

void ByteText::append_message(std::string_view role, std::string_view text,
                              std::vector<std::uint32_t>& tokens) const {
  append(role, tokens);
  append(": ", tokens);
  append(text, tokens);
  append("\n", tokens);
}

void ByteText::end_chat(std::vector<std::uint32_t>& tokens) const {
  append("assistant:", tokens);
}

std::unique_ptr<server::TextStream> ByteText::stream() const {
  return std::make_unique<ByteStream>();
}

}  // namespace assay::engine
