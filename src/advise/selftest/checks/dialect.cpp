// Conversions with the bits of src/compute/kernels/element_types.h, element by element and in
// packs, stochastic rounding, and copies to shared memory: what kernels do through the dialect
// alone.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "compute/device/helpers.h"
#include "compute/kernels/element_types.h"
#include "compute/kernels/random.h"

namespace assay::selftest::dialect {
namespace {

/// Returns every sign and exponent of f32 with mantissas at the corners of every narrower one:
/// around 0, 1 and the ties between neighbours. Random patterns follow, in all 2^20 + `random`.
std::vector<float> corner_floats(std::size_t random) {
  std::vector<unsigned> mantissas;
  for (unsigned bit = 0; bit <= 23; ++bit) {
    for (const unsigned base : {0u, 0x7FFFFFu ^ (0x7FFFFFu >> bit)}) {
      for (const unsigned offset : {0u, 1u, 0x7FFFFFu}) {
        for (const unsigned odd : {0u, bit < 22 ? 2u << bit : 0u}) {
          mantissas.push_back(((1u << bit >> 1) + base + odd + offset) & 0x7FFFFF);
        }
      }
    }
  }
  std::vector<float> floats;
  for (unsigned sign_and_exponent = 0; sign_and_exponent < 512; ++sign_and_exponent) {
    for (const unsigned mantissa : mantissas) {
      floats.push_back(float_of(sign_and_exponent << 23 | mantissa));
    }
  }
  std::mt19937 bits(7);
  while (floats.size() < random || floats.size() % 64 != 0) floats.push_back(float_of(bits()));
  return floats;
}

/// The kernels of src/compute/kernels/dialect.cu on the stage's device.
class Dialect {
 public:
  static Result<Dialect> build(Stage& stage) {
    return Dialect(stage, TRY(stage.device.build({"dialect", {}})));
  }

  template <typename... Arguments>
  Status run(const std::string& kernel, const LaunchShape& shape, Arguments... arguments) const {
    Kernel* const found = TRY(program_->kernel(kernel));
    return launch(stage_->stream, *found, shape, arguments...);
  }
  LaunchShape filling() const { return filling_shape(stage_->device.facts()); }
  Result<Buffer> allocate(std::size_t bytes) const {
    return stage_->device.allocate(bytes, MemoryKind::device);
  }
  template <typename T>
  Result<Buffer> upload(const std::vector<T>& values) const {
    Buffer buffer = TRY(allocate(values.size() * sizeof(T)));
    TRY(stage_->stream.copy(buffer.data(), values.data(), buffer.bytes()));
    TRY(stage_->stream.synchronize());
    return buffer;
  }
  template <typename T>
  Result<std::vector<T>> download(const Buffer& buffer, std::size_t count) const {
    return read_back<T>(stage_->stream, buffer.data(), count);
  }

 private:
  Dialect(Stage& stage, std::unique_ptr<Program> program)
      : stage_(&stage), program_(std::move(program)) {}

  Stage* stage_;
  std::unique_ptr<Program> program_;
};

/// Calls body(zero of the type, its name) until one returns an error.
template <typename Body>
Status for_each_type(Body body) {
  TRY(body(F16{}, "f16"));
  TRY(body(Bf16{}, "bf16"));
  TRY(body(E4m3{}, "e4m3"));
  TRY(body(E5m2{}, "e5m2"));
  TRY(body(E4m3Fnuz{}, "e4m3_fnuz"));
  return body(E5m2Fnuz{}, "e5m2_fnuz");
}

Error wrong_code(std::string_view what, std::string_view type, unsigned of, unsigned found,
                 unsigned right) {
  return wrong(
      fmt::format("{} {} of bits {:#x} is {:#x}, expected {:#x}", what, type, of, found, right));
}

template <typename T>
Status encode(const Dialect& dialect, const std::string& type, const std::vector<float>& floats) {
  const std::uint64_t n = floats.size();
  const Buffer x = TRY(dialect.upload(floats));
  const Buffer single = TRY(dialect.allocate(n * sizeof(T)));
  const Buffer packed = TRY(dialect.allocate(n * sizeof(T)));
  TRY(dialect.run("encode_" + type, dialect.filling(), single.data(), packed.data(), x.data(), n));
  const auto codes = TRY(dialect.download<T>(single, n));
  const auto codes_of_packs = TRY(dialect.download<T>(packed, n));
  for (std::uint64_t i = 0; i < n; ++i) {
    const unsigned right = T::encode(floats[i]).bits, bits = bits_of(floats[i]);
    if (codes[i].bits != right) return wrong_code("the", type, bits, codes[i].bits, right);
    if (codes_of_packs[i].bits != right) {
      return wrong_code("in a pack, the", type, bits, codes_of_packs[i].bits, right);
    }
  }
  return {};
}

Answer codes(Stage& stage) {
  const Dialect dialect = TRY(Dialect::build(stage));
  const std::vector<float> floats = corner_floats(std::size_t{1} << 20);
  TRY(for_each_type(
      [&]<typename T>(T, const std::string& type) { return encode<T>(dialect, type, floats); }));
  return passed(fmt::format("{} numbers in six types", floats.size()));
}

/// Checks all codes in a row, then each beside a NaN or a number.
template <typename T>
Status decode(const Dialect& dialect, const std::string& type) {
  using Bits = decltype(T::bits);
  constexpr unsigned all = 1u << 8 * sizeof(T);
  std::vector<T> codes;
  for (unsigned i = 0; i < all; ++i) codes.push_back({static_cast<Bits>(i)});
  for (unsigned i = 0; i < 2 * all; ++i) {
    codes.push_back({static_cast<Bits>(i % 2 == 0 ? i / 2 * 40503 : i / 2)});
  }
  const std::uint64_t n = codes.size();
  const Buffer x = TRY(dialect.upload(codes));
  const Buffer single = TRY(dialect.allocate(n * 4)), packed = TRY(dialect.allocate(n * 4));
  TRY(dialect.run("decode_" + type, dialect.filling(), single.data(), packed.data(), x.data(), n));
  const auto numbers = TRY(dialect.download<std::uint32_t>(single, n));
  const auto numbers_of_packs = TRY(dialect.download<std::uint32_t>(packed, n));
  for (std::uint64_t i = 0; i < n; ++i) {
    const unsigned right = bits_of(codes[i].decode()), code = codes[i].bits;
    if (numbers[i] != right) return wrong_code("the number", type, code, numbers[i], right);
    if (numbers_of_packs[i] != right) {
      return wrong_code("in a pack, the number", type, code, numbers_of_packs[i], right);
    }
  }
  return {};
}

Answer numbers(Stage& stage) {
  const Dialect dialect = TRY(Dialect::build(stage));
  TRY(for_each_type(
      [&]<typename T>(T, const std::string& type) { return decode<T>(dialect, type); }));
  return passed("every code of six types");
}

/// Compares instructions with bit operations on the device itself, for `n` bit patterns from
/// `first` on.
Status compare_range(const Dialect& dialect, std::uint64_t first, std::uint64_t n) {
  return for_each_type([&]<typename T>(T, const std::string& type) -> Status {
    const LaunchShape shape = dialect.filling();
    const Buffer found = TRY(dialect.allocate(shape.grid.x * 16));
    TRY(dialect.run("check_encoding_" + type, shape, found.data(), first, n));
    const auto counts = TRY(dialect.download<std::uint64_t>(found, shape.grid.x * 2));
    for (unsigned block = 0; block < shape.grid.x; ++block) {
      if (counts[2 * block] == 0) continue;
      return wrong(fmt::format("{} codes of {} are wrong, the first that of bits {:#x}",
                               counts[2 * block], type, first + counts[2 * block + 1]));
    }
    return {};
  });
}

Answer all_codes(Stage& stage) {
  const Dialect dialect = TRY(Dialect::build(stage));
  if (stage.large) {
    TRY(compare_range(dialect, 0, std::uint64_t{1} << 32));
    return passed("all 2^32 numbers in six types");
  }
  for (const std::uint64_t first : {0x00000000u, 0x33000000u, 0x7F7FFE00u, 0xC77F0000u}) {
    TRY(compare_range(dialect, first, 1 << 14));
  }
  return passed("65,536 numbers in six types");
}

Answer stochastic_rounding(Stage& stage) {
  constexpr std::uint64_t n = 1 << 14, key = 0x123456789ABCDEF;
  const Dialect dialect = TRY(Dialect::build(stage));
  std::vector<float> floats(n, 1 + 0.3f / 128);  // three tenths of the way to the next bf16
  for (std::uint64_t i = 0; i < n; i += 2) floats[i] = float_of(static_cast<u32>(i * 0x40003));
  const Buffer x = TRY(dialect.upload(floats)), rounded = TRY(dialect.allocate(n * 2));
  TRY(dialect.run("round_all", dialect.filling(), rounded.data(), x.data(), n, key));
  const auto codes = TRY(dialect.download<Bf16>(rounded, n));
  unsigned up = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const u32 random = random_bits(i / 2, key) >> (i % 2 == 0 ? 0 : 16);
    const unsigned right = round_stochastically(floats[i], random).bits;
    if (codes[i].bits != right) {
      return wrong_code("rounded, the", "bf16", bits_of(floats[i]), codes[i].bits, right);
    }
    up += i % 2 == 1 && codes[i].bits == 0x3F81;
  }
  const double expected = 0.3 * n / 2, deviation = std::sqrt(0.3 * 0.7 * n / 2);
  TRY(expect_within("numbers rounded up of those three tenths of the way", up,
                    expected - 4 * deviation, expected + 4 * deviation));
  return passed();
}

Answer copies(Stage& stage) {
  constexpr unsigned parts = 3 * 2 * 2, chunks = 100, words = 4;
  const Dialect dialect = TRY(Dialect::build(stage));
  std::vector<std::uint32_t> sources(std::size_t{parts} * chunks * words);
  for (std::size_t i = 0; i < sources.size(); ++i) sources[i] = static_cast<std::uint32_t>(i);
  const Buffer from = TRY(dialect.upload(sources)), to = TRY(dialect.allocate(from.bytes()));
  TRY(dialect.run("reverse_parts", {{3, 2, 2}, {64}, chunks * 16}, to.data(), from.data(), chunks));
  const auto copied = TRY(dialect.download<std::uint32_t>(to, sources.size()));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::size_t chunk = i / words, part = chunk / chunks;
    const std::size_t source = part * chunks + chunks - 1 - chunk % chunks;
    TRY(expect_equal("a word copied through shared memory", copied[i],
                     sources[source * words + i % words]));
  }
  return passed();
}

const AddChecks registered{
    {.name = "conversions-to-codes",
     .topic = Topic::kernels,
     .about = "conversions to 16-bit and 8-bit types give the defined bits",
     .accelerator = false,
     .run = &codes},
    {.name = "conversions-to-numbers",
     .topic = Topic::kernels,
     .about = "conversions from 16-bit and 8-bit types give the defined numbers",
     .accelerator = false,
     .run = &numbers},
    {.name = "conversions-of-all-numbers",
     .topic = Topic::kernels,
     .about = "the device's conversion instructions agree with bit operations",
     .accelerator = false,
     .run = &all_codes},
    {.name = "stochastic-rounding",
     .topic = Topic::kernels,
     .about = "stochastic rounding to bf16 gives the defined bits, without bias",
     .accelerator = false,
     .run = &stochastic_rounding},
    {.name = "copies-to-shared-memory",
     .topic = Topic::kernels,
     .about = "asynchronous copies pass through shared memory",
     .accelerator = false,
     .run = &copies},
};

}  // namespace
}  // namespace assay::selftest::dialect
