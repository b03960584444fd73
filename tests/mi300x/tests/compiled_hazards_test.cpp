// Checks the wait-state rules on a compiler's output: it keeps all of them, and few of its s_nops
// are superfluous.
#include "emulator/code_object.h"
#include "emulator/fault.h"
#include "emulator/hazards.h"
#include "kernel_test.h"

namespace mi300x {
namespace {

/// An s_nop must be explained by this many instructions before and after it.
constexpr std::size_t before = 24, after = 4;

bool never_falls_through(const Instruction& instruction) {
  const std::string_view name = instruction.operation->name;
  return name == "s_endpgm" || name == "s_branch" || name == "s_setpc_b64";
}

class MatrixKernels {
 public:
  explicit MatrixKernels(const std::string& arch) : arch_(arch) {
    const std::string folder = ASSAY_SOURCE_DIR "/src/compute/kernels";
    module_ = Module::load(compile_file(folder + "/matrix.cu", arch, "-I" + folder), arch);
    code_ = &dynamic_cast<const CodeObject&>(*module_).code;
  }

  /// Returns the first complaint about [from, to) without the instruction `left_out`, executed in
  /// order and with all loads waited for. It restarts where control flow ends.
  std::string verdict(std::size_t from, std::size_t to, std::size_t left_out) const {
    Instruction wait = decode("s_waitcnt vmcnt(0) lgkmcnt(0)", arch_);
    wait.hazards.states = 0;
    const Wave wave;
    std::optional<HazardCheck> check(std::in_place);
    for (std::size_t n = from; n < to; ++n) {
      if (n == left_out) continue;
      const Instruction& instruction = (*code_)[n];
      try {
        check->before(wave, wait);
        check->before(wave, instruction);
      } catch (const Fault& fault) {
        return instruction.text + ": " + fault.what();
      }
      if (never_falls_through(instruction)) check.emplace();
    }
    return "";
  }
  /// Returns whether an s_nop only pads up to a cache line, because it follows the end of control
  /// flow.
  bool is_padding(std::size_t n) const {
    while (n > 0 && (*code_)[n].operation->name == "s_nop") --n;
    return never_falls_through((*code_)[n]);
  }

  const std::vector<Instruction>& code() const { return *code_; }
  static constexpr std::size_t nothing = ~std::size_t{0};

 private:
  std::string arch_;
  std::shared_ptr<Module> module_;
  const std::vector<Instruction>* code_;
};

TEST(CompiledHazards, EveryRuleIsKept) {
  SKIP_WITHOUT_COMPILER();
  for (const char* arch : {"gfx942", "gfx90a"}) {
    const MatrixKernels kernels(arch);
    EXPECT_GT(kernels.code().size(), 1000u) << arch;
    EXPECT_EQ(kernels.verdict(0, kernels.code().size(), MatrixKernels::nothing), "") << arch;
  }
}

/// The few s_nops that are not detected are needed for branches from other code.
TEST(CompiledHazards, AnNopLeftOutIsFound) {
  SKIP_WITHOUT_COMPILER();
  const MatrixKernels kernels("gfx942");
  const std::size_t size = kernels.code().size();
  int nops = 0, found = 0;
  for (std::size_t n = 0; n < size; ++n) {
    if (kernels.code()[n].operation->name != "s_nop" || kernels.is_padding(n)) continue;
    ++nops;
    found += kernels.verdict(n - std::min(n, before), std::min(n + after, size), n) != "";
  }
  EXPECT_GE(nops, 20);
  EXPECT_GE(found, 0.95 * nops) << "of " << nops;
}

}  // namespace
}  // namespace mi300x
