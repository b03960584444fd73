// Whether a prototype of ours can stand in for a vendor's: the same number of parameters, each of
// the same size and kind, so that every value is passed in the same register or stack slot.
#pragma once

#include <cstddef>
#include <type_traits>

namespace assay::abi {

enum class Kind { integer, pointer, floating, other };

template <typename T>
constexpr Kind kind_of = std::is_pointer_v<T>                         ? Kind::pointer
                         : std::is_integral_v<T> || std::is_enum_v<T> ? Kind::integer
                         : std::is_floating_point_v<T>                ? Kind::floating
                                                                      : Kind::other;

/// CUDA types device addresses as unsigned long long where we and HIP have pointers; both are
/// passed in the same way. Sizes are size_t, which is unsigned long. 8-byte integers must be of the
/// same type, so that a size in the place of an address is found.
template <typename Ours, typename Theirs>
constexpr bool same_value =
    sizeof(Ours) == sizeof(Theirs) &&
    ((kind_of<Ours> == kind_of<Theirs> && kind_of<Ours> != Kind::other &&
      (std::is_same_v<Ours, Theirs> || kind_of<Ours> != Kind::integer || sizeof(Ours) < 8)) ||
     (std::is_pointer_v<Ours> && std::is_same_v<Theirs, unsigned long long>) ||
     // Structs of more than two words are passed on the stack, whatever they hold.
     (std::is_class_v<Ours> && std::is_class_v<Theirs> && sizeof(Ours) > 16 &&
      alignof(Ours) == alignof(Theirs)));

template <>
inline constexpr bool same_value<void, void> = true;  // functions without a result

template <typename Ours, typename Theirs>
struct Match : std::false_type {};

template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
requires(sizeof...(Ours) ==
         sizeof...(Theirs)) struct Match<OurResult (*)(Ours...), TheirResult (*)(Theirs...)>
    : std::bool_constant<same_value<OurResult, TheirResult> &&
                         (same_value<Ours, Theirs> && ... && true)> {
};

}  // namespace assay::abi

/// Expands a list F(member, symbol) of a table `Api` to one expectation per function.
#define ASSAY_EXPECT_MATCH(Api, member, symbol)                                       \
  EXPECT_TRUE((::assay::abi::Match<decltype(Api::member), decltype(&symbol)>::value)) \
      << #member " does not have the shape of " #symbol;
