// SHA-256 against the examples of FIPS 180-4 and values of sha256sum, HMAC against RFC 4231.
#include "core/hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

TEST(Hash, KnownDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/// RFC 4231, test cases 1, 2 and 6.
TEST(Hash, KnownCodes) {
  EXPECT_EQ(hmac_sha256_hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256_hex(std::string(131, '\xaa'),
                            "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hash, PartsAreKeptApart) {
  const std::vector<std::string> a = {"ab", "c"}, b = {"a", "bc"}, c = {"abc"}, d = {"ab", "c", ""};
  EXPECT_EQ(hash_of_parts(a), hash_of_parts(a));
  EXPECT_NE(hash_of_parts(a), hash_of_parts(b));
  EXPECT_NE(hash_of_parts(a), hash_of_parts(c));
  EXPECT_NE(hash_of_parts(a), hash_of_parts(d));
}

}  // namespace
}  // namespace assay
