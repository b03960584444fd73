// How ranks name memory to each other, and that nobody maps another's by mistake.
#include "compute/device/ipc_handle_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compute/backends/cpu/peer_memory.h"

namespace assay {
namespace {

using testing::HasSubstr;

SharedName own_name(const Buffer& buffer) {
  return SharedName::own(buffer, 3, std::string("\0\xFFh", 3));
}

TEST(SharedNames, KeepAllThatTheyName) {
  int memory = 0;
  const Buffer buffer(&memory, sizeof(memory), nullptr, [](void*, void*, std::size_t) {});
  const SharedName name = SharedName::parse(own_name(buffer).text()).value();
  EXPECT_TRUE(name.is_own());
  EXPECT_EQ(name.place, 3);
  EXPECT_EQ(name.handle, std::string("\0\xFFh", 3));
  EXPECT_EQ(name.borrowed().data(), &memory);
  EXPECT_EQ(name.borrowed().bytes(), sizeof(memory));
}

/// Processes of two containers may have the same number.
TEST(SharedNames, OfAProcessWithTheSameNumberAreNotOnesOwn) {
  SharedName name = own_name(Buffer());
  ++name.identity;
  EXPECT_FALSE(SharedName::parse(name.text()).value().is_own());
}

TEST(SharedNames, DamagedOnesAreRefused) {
  const std::string whole = own_name(Buffer()).text();
  for (const std::string& text : {std::string(), std::string("1 2 3"), whole + "f", whole + "zz"}) {
    const auto name = SharedName::parse(text);
    ASSERT_FALSE(name) << text;
    EXPECT_THAT(name.error().message, HasSubstr("unknown way"));
  }
}

TEST(PeerMemory, OfAnotherProcessIsOnlyWhatItNamed) {
  cpu::PeerMemory memory;
  const Buffer buffer = memory.allocate(4096).value();
  buffer.as<char>()[7] = 'x';
  SharedName name = SharedName::parse(memory.share(buffer).value()).value();
  ++name.identity;  // as another process sees it
  {
    const Buffer mapped = cpu::PeerMemory::open(name.text()).value();
    EXPECT_NE(mapped.data(), buffer.data());
    EXPECT_EQ(mapped.as<char>()[7], 'x');
  }
  // In another container the same number is another process, with other files or none.
  const Buffer another = memory.allocate(4096).value();
  const int other = SharedName::parse(memory.share(another).value()).value().place;
  for (const int file : {other, 1000000}) {
    name.place = file;
    const auto mapped = cpu::PeerMemory::open(name.text());
    ASSERT_FALSE(mapped) << file;
    EXPECT_THAT(mapped.error().message, HasSubstr("mapping process"));
  }
  const Buffer ordinary;
  EXPECT_EQ(memory.share(ordinary).error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace assay
