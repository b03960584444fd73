#include "emulator/operands.h"

#include "emulator/instruction_text.h"

namespace mi300x {
namespace {

// ---- Registers ----

struct NamedRegister {
  std::string_view name;
  unsigned index, words;
};
constexpr NamedRegister named_registers[] = {
    {"vcc", scalar::vcc, 2},
    {"vcc_lo", scalar::vcc, 1},
    {"vcc_hi", scalar::vcc + 1, 1},
    {"exec", scalar::exec, 2},
    {"exec_lo", scalar::exec, 1},
    {"exec_hi", scalar::exec + 1, 1},
    {"m0", scalar::m0, 1},
    {"flat_scratch", scalar::flat_scratch, 2},
    {"flat_scratch_lo", scalar::flat_scratch, 1},
    {"flat_scratch_hi", scalar::flat_scratch + 1, 1},
    {"xnack_mask", scalar::xnack_mask, 2},
    {"xnack_mask_lo", scalar::xnack_mask, 1},
    {"xnack_mask_hi", scalar::xnack_mask + 1, 1},
};

struct NamedSpecial {
  std::string_view name;
  Special value;
};
constexpr NamedSpecial named_specials[] = {
    {"src_vccz", Special::vccz},
    {"src_execz", Special::execz},
    {"src_scc", Special::scc},
    {"src_shared_base", Special::shared_base},
    {"src_shared_limit", Special::shared_limit},
    {"src_private_base", Special::private_base},
    {"src_private_limit", Special::private_limit},
};

/// Registers written with a number: "v7", "a[0:3]", "ttmp5".
struct RegisterFile {
  std::string_view name;
  OperandKind kind;
  unsigned base, count;
};
constexpr RegisterFile register_files[] = {
    {"v", OperandKind::vector, 0, 256},
    {"a", OperandKind::vector, first_accumulator, 256},
    {"s", OperandKind::scalar, 0, 102},
    {"ttmp", OperandKind::scalar, 108, 16},
};

bool parse_numbered_register(std::string_view text, Operand& operand) {
  const std::size_t digits = text.find_first_of("[0123456789");
  if (digits == std::string_view::npos || digits == 0) return false;
  const RegisterFile* file = find_name(register_files, text.substr(0, digits));
  if (file == nullptr) return false;
  std::string_view number = text.substr(digits);
  i64 first = 0, last = 0;
  if (number.front() == '[') {
    const std::size_t colon = number.find(':');
    if (number.back() != ']' || colon == std::string_view::npos) unknown_text("register", text);
    first = parse_integer(number.substr(1, colon - 1));
    last = parse_integer(number.substr(colon + 1, number.size() - colon - 2));
  } else {
    first = last = parse_integer(number);
  }
  if (first < 0 || last < first || last >= file->count) unknown_text("register", text);
  operand.kind = file->kind;
  operand.index = static_cast<u16>(file->base + first);
  operand.words = static_cast<u8>(last - first + 1);
  return true;
}

// ---- Constants ----

bool is_wide(Type type) {
  return type == Type::b64 || type == Type::f64 || type == Type::packed_f32;
}

/// The inline constants with a decimal point: the text, and the bits in each width. bf16 is the
/// upper half of f32.
struct InlineFloat {
  std::string_view name;
  u16 half;
  u32 single;
  u64 twice;
};
constexpr InlineFloat inline_floats[] = {
    {"0.5", 0x3800, 0x3F000000, 0x3FE0000000000000},
    {"-0.5", 0xB800, 0xBF000000, 0xBFE0000000000000},
    {"1.0", 0x3C00, 0x3F800000, 0x3FF0000000000000},
    {"-1.0", 0xBC00, 0xBF800000, 0xBFF0000000000000},
    {"2.0", 0x4000, 0x40000000, 0x4000000000000000},
    {"-2.0", 0xC000, 0xC0000000, 0xC000000000000000},
    {"4.0", 0x4400, 0x40800000, 0x4010000000000000},
    {"-4.0", 0xC400, 0xC0800000, 0xC010000000000000},
    {"0.15915494", 0x3118, 0x3E22F983, 0x3FC45F306DC9C882},
    {"0.15915494309189532", 0x3118, 0x3E22F983, 0x3FC45F306DC9C882},
};

u64 float_bits(std::string_view text, Type type) {
  const InlineFloat* value = find_name(inline_floats, text);
  if (value == nullptr) unknown_text("constant", text);
  switch (type) {
    case Type::f16:
    case Type::b16:
    case Type::packed_f16:
      return value->half;
    case Type::bf16:
      return value->single >> 16;
    case Type::b64:
    case Type::f64:
      return value->twice;
    case Type::b32:
    case Type::f32:
    case Type::packed_b16:
    case Type::packed_f32:
      return value->single;
  }
  unknown_text("constant", text);
}

/// Inline integers are printed in decimal and are sign-extended. Literals are printed in
/// hexadecimal; they have 32 bits, which a 64-bit operation sees as its upper half (f64) or
/// extended.
u64 integer_bits(std::string_view text, Type type, bool sign_extended) {
  const i64 value = parse_integer(text);
  const bool literal = text.starts_with("0x");
  switch (type) {
    case Type::f16:
    case Type::b16:
    case Type::bf16:
      return static_cast<u16>(value);
    case Type::b32:
    case Type::f32:
    case Type::packed_b16:
    case Type::packed_f16:
    case Type::packed_f32:
      return static_cast<u32>(value);
    case Type::f64:
      return literal ? static_cast<u64>(value) << 32 : static_cast<u64>(value);
    case Type::b64:
      if (literal && sign_extended) return static_cast<u64>(i64{static_cast<i32>(value)});
      return static_cast<u64>(value);
  }
  unknown_text("constant", text);
}

Operand parse_constant(std::string_view text, Type type, bool sign_extended) {
  Operand operand;
  operand.kind = OperandKind::constant;
  operand.words = is_wide(type) ? 2 : 1;
  operand.constant = text.find('.') != std::string_view::npos
                         ? float_bits(text, type)
                         : integer_bits(text, type, sign_extended);
  return operand;
}

}  // namespace

Operand parse_operand(std::string_view text, Type type, bool sign_extended) {
  bool negate = take_call(text, "neg");
  const bool sign_extend = take_call(text, "sext");
  if (text.size() > 1 && text[0] == '-' && (text[1] < '0' || text[1] > '9')) {
    negate = true;
    text.remove_prefix(1);
  }
  const bool absolute = text.size() > 2 && text.front() == '|' && text.back() == '|';
  if (absolute) text = text.substr(1, text.size() - 2);

  Operand operand;
  if (text == "off") return operand;
  if (const NamedRegister* named = find_name(named_registers, text)) {
    operand.kind = OperandKind::scalar;
    operand.index = static_cast<u16>(named->index);
    operand.words = static_cast<u8>(named->words);
  } else if (const NamedSpecial* special = find_name(named_specials, text)) {
    operand.kind = OperandKind::special;
    operand.index = static_cast<u16>(special->value);
    operand.words = is_wide(type) ? 2 : 1;
  } else if (!parse_numbered_register(text, operand)) {
    operand = parse_constant(text, type, sign_extended);
  }
  operand.negate = negate;
  operand.absolute = absolute;
  operand.sign_extend = sign_extend;
  return operand;
}

}  // namespace mi300x
