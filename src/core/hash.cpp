#include "core/hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

namespace assay {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data(), nullptr);
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string hash_of_parts(std::span<const std::string> parts) {
  std::string all;
  for (const std::string& part : parts) all += std::to_string(part.size()) + ":" + part;
  return sha256_hex(all);
}

}  // namespace assay
