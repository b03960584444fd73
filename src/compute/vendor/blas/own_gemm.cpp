// GEMM with assay's own kernels behind the interface of the vendors' libraries, on every backend.
// gemm.cu shows what the portable dialect achieves on matrix units; gemm_plain.cu is a fallback
// where no library supports f32 or fp8.
#include <fmt/format.h>

#include <cstdint>

#include "compute/device/matrix_unit_types.h"
#include "compute/vendor/blas/blas.h"
#include "core/version.h"

namespace assay {
namespace {

/// How a block computes its tile; the names are those of gemm.cu's macros.
struct TileShape {
  std::uint64_t rows, columns, depth, stages, waves_down, waves_across, blocks;

  std::uint64_t shared_bytes() const { return stages * (rows + columns) * depth * 2; }
};

// The first shape is the fastest on an H200 at 8192; smaller ones give small products more blocks.
// The CDNA shapes fit into its 64 KiB of LDS; none of them has run on such a chip.
constexpr TileShape cuda_shapes[] = {
    {128, 256, 64, 3, 2, 4, 1},
    {256, 128, 64, 3, 4, 2, 1},
    {128, 128, 64, 3, 2, 2, 2},
    {64, 64, 64, 4, 2, 2, 3},
};
constexpr TileShape cdna_shapes[] = {
    {128, 128, 32, 2, 2, 2, 2},
    {128, 128, 64, 2, 2, 2, 1},
    {64, 64, 64, 2, 2, 2, 2},
};
constexpr TileShape cpu_shape = {64, 64, 64, 2, 1, 1, 1};  // the one compiled in

std::vector<TileShape> shapes_for(const DeviceFacts& facts) {
  std::vector<TileShape> shapes;
  const auto add = [&](const TileShape& shape) {
    if (shape.shared_bytes() <= facts.shared_bytes_per_block) shapes.push_back(shape);
  };
  if (facts.is_nvidia()) {
    for (const TileShape& shape : cuda_shapes) add(shape);
  } else if (facts.is_amd()) {
    for (const TileShape& shape : cdna_shapes) add(shape);
  } else {
    shapes.push_back(cpu_shape);
  }
  return shapes;
}

std::optional<std::string> fp8_unsupported(const GemmProblem& problem) {
  const bool fnuz = is_fnuz(problem.b);
  const DataType e4m3 = fnuz ? DataType::e4m3_fnuz : DataType::e4m3;
  const DataType e5m2 = fnuz ? DataType::e5m2_fnuz : DataType::e5m2;
  if (problem.b != e4m3 || (problem.a != e4m3 && problem.a != e5m2) || problem.c != problem.d ||
      (problem.d != DataType::bf16 && problem.d != DataType::f32) || problem.batch != 1) {
    return "multiplies single matrices of e4m3 or e5m2 by e4m3 of the same encoding, into bf16 or "
           "f32";
  }
  if (problem.epilogue != Epilogue::none || problem.scales_d || problem.writes_amax_d) {
    return "has no epilogues and no factors of results";
  }
  return std::nullopt;
}

std::optional<std::string> unsupported(const GemmProblem& problem, const DeviceFacts& facts) {
  if (auto reason = needs_all_multiprocessors(problem)) return reason;
  if (is_fp8(problem.a) && is_fp8(problem.b)) return fp8_unsupported(problem);
  const bool narrow = problem.a == DataType::bf16 || problem.a == DataType::f16;
  if ((!narrow && problem.a != DataType::f32) || problem.b != problem.a ||
      problem.compute != DataType::f32 || problem.c != problem.d ||
      (problem.d != problem.a && problem.d != DataType::f32)) {
    return "multiplies f32, bf16 or f16 with sums in f32, into the same type or f32, and fp8";
  }
  if (problem.epilogue != Epilogue::none || problem.scales_a || problem.scales_b ||
      problem.scales_d || problem.writes_amax_d) {
    return "has no epilogues and no scales";
  }
  if (narrow && !has_own_matrix_units(facts)) {
    return fmt::format("is written for sm_80 and newer, gfx90a, gfx94x and gfx95x, not for {}",
                       facts.arch);
  }
  return std::nullopt;
}

/// Converts an operand's sizes to the kernels' type.
std::uint64_t unsigned_of(std::int64_t x) {
  return static_cast<std::uint64_t>(x);
}

/// Checks that D is only added to in place.
Status check_place(const GemmProblem& problem, const GemmOperands& operands) {
  if (problem.beta == 0 || operands.c == operands.d) return {};
  return Error{ErrorKind::unsupported, "own: adds to D in place, so C must be D"};
}

class OwnPlan final : public GemmPlan {
 public:
  OwnPlan(GemmProblem problem, std::unique_ptr<Program> program, Kernel& kernel, LaunchShape launch)
      : GemmPlan(problem), program_(std::move(program)), kernel_(kernel), launch_(launch) {}

  Status queue(Stream& stream, const GemmOperands& operands, Workspace) override {
    TRY(check_place(problem_, operands));
    const auto whole_chunks = [](const void* address, std::int64_t ld, std::int64_t stride) {
      return reinterpret_cast<std::uintptr_t>(address) % 16 == 0 && ld % 8 == 0 && stride % 8 == 0;
    };
    const int aligned = (whole_chunks(operands.a, problem_.lda, problem_.stride_a) ? 1 : 0) |
                        (whole_chunks(operands.b, problem_.ldb, problem_.stride_b) ? 2 : 0);
    return launch(stream, kernel_, launch_, operands.d, operands.a, operands.b,
                  unsigned_of(problem_.m), unsigned_of(problem_.n), unsigned_of(problem_.k),
                  unsigned_of(problem_.lda), unsigned_of(problem_.ldb), unsigned_of(problem_.ldd),
                  unsigned_of(problem_.stride_a), unsigned_of(problem_.stride_b),
                  unsigned_of(problem_.stride_d), static_cast<float>(problem_.alpha),
                  static_cast<float>(problem_.beta), aligned, problem_.d == DataType::f32 ? 1 : 0);
  }

 private:
  std::unique_ptr<Program> program_;
  Kernel& kernel_;
  LaunchShape launch_;
};

bool runs_plain(const GemmProblem& problem) {
  return problem.a == DataType::f32 || is_fp8(problem.a);
}

/// Runs without matrix units.
class OwnPlainPlan final : public GemmPlan {
 public:
  OwnPlainPlan(GemmProblem problem, std::unique_ptr<Program> program, Kernel& kernel)
      : GemmPlan(problem), program_(std::move(program)), kernel_(kernel) {}

  Status queue(Stream& stream, const GemmOperands& operands, Workspace) override {
    const GemmProblem& p = problem_;
    TRY(check_place(p, operands));
    const std::int64_t row_a = p.transpose_a ? 1 : p.lda, depth_a = p.transpose_a ? p.lda : 1;
    const std::int64_t depth_b = p.transpose_b ? 1 : p.ldb, column_b = p.transpose_b ? p.ldb : 1;
    LaunchShape shape;
    shape.grid.x = static_cast<unsigned>(((p.m + tile - 1) / tile) * ((p.n + tile - 1) / tile));
    shape.grid.y = static_cast<unsigned>(p.batch);
    shape.block.x = 256;
    const auto queue = [&](auto... more) {
      return launch(stream, kernel_, shape, operands.d, operands.a, operands.b, unsigned_of(p.m),
                    unsigned_of(p.n), unsigned_of(p.k), unsigned_of(row_a), unsigned_of(depth_a),
                    unsigned_of(depth_b), unsigned_of(column_b), unsigned_of(p.ldd), more...);
    };
    const float alpha = static_cast<float>(p.alpha), beta = static_cast<float>(p.beta);
    if (is_fp8(p.a)) {
      return queue(alpha, beta, p.scales_a ? operands.scale_a : nullptr,
                   p.scales_b ? operands.scale_b : nullptr, p.scales_lines ? 1 : 0,
                   p.d == DataType::bf16 ? 1 : 0);
    }
    return queue(unsigned_of(p.stride_a), unsigned_of(p.stride_b), unsigned_of(p.stride_d), alpha,
                 beta);
  }

 private:
  static constexpr std::int64_t tile = 64;  // as in gemm_plain.cu

  std::unique_ptr<Program> program_;
  Kernel& kernel_;
};

class OwnBlas final : public Blas {
 public:
  explicit OwnBlas(Device& device)
      : device_(device), facts_{"own", std::string(version()), "built in"} {}

  const BlasFacts& facts() const override { return facts_; }

  Result<std::vector<GemmAlgorithm>> algorithms(const GemmProblem& problem, std::size_t,
                                                int most) override {
    if (const auto reason = unsupported(problem, device_.facts())) {
      return Error{ErrorKind::unsupported, "own: " + *reason};
    }
    if (runs_plain(problem)) return std::vector<GemmAlgorithm>{{"tile=64x64x16", 0, {}}};
    std::vector<GemmAlgorithm> found;
    for (const TileShape& shape : shapes_for(device_.facts())) {
      if (static_cast<int>(found.size()) == most) break;
      found.push_back(algorithm_of(shape));
    }
    return found;
  }

  Result<std::unique_ptr<GemmPlan>> plan(const GemmProblem& problem,
                                         const GemmAlgorithm& algorithm) override {
    if (runs_plain(problem)) {
      auto program = TRY(device_.build({"gemm_plain", {}}));
      Kernel* kernel = TRY(program->kernel(
          is_fp8(problem.a) ? fmt::format("gemm_{}_{}", name_of(problem.a), name_of(problem.b))
                            : "gemm_f32"));
      return std::unique_ptr<GemmPlan>(
          std::make_unique<OwnPlainPlan>(problem, std::move(program), *kernel));
    }
    const auto& data = algorithm.data;
    const TileShape shape = {data[0], data[1], data[2], data[3], data[4], data[5], data[6]};
    const std::string type = problem.a == DataType::bf16 ? "bf16" : "f16";
    const std::string name = fmt::format("gemm_{}{}_{}", problem.transpose_a ? 't' : 'n',
                                         problem.transpose_b ? 't' : 'n', type);
    const auto text = [](bool yes) { return yes ? "true" : "false"; };
    auto program = TRY(device_.build({"gemm",
                                      {{"GEMM_ROWS", std::to_string(shape.rows)},
                                       {"GEMM_COLUMNS", std::to_string(shape.columns)},
                                       {"GEMM_DEPTH", std::to_string(shape.depth)},
                                       {"GEMM_STAGES", std::to_string(shape.stages)},
                                       {"GEMM_WAVES_DOWN", std::to_string(shape.waves_down)},
                                       {"GEMM_WAVES_ACROSS", std::to_string(shape.waves_across)},
                                       {"GEMM_BLOCKS", std::to_string(shape.blocks)},
                                       {"GEMM_ONLY", name},
                                       {"GEMM_TYPE", type == "bf16" ? "Bf16" : "F16"},
                                       {"GEMM_TRANSPOSE_A", text(problem.transpose_a)},
                                       {"GEMM_TRANSPOSE_B", text(problem.transpose_b)}}}));
    Kernel* kernel = TRY(program->kernel(name));
    LaunchShape launch;
    const auto tiles = [](std::int64_t extent, std::uint64_t tile) {
      return (static_cast<std::uint64_t>(extent) + tile - 1) / tile;
    };
    launch.grid.x =
        static_cast<unsigned>(tiles(problem.m, shape.rows) * tiles(problem.n, shape.columns));
    launch.grid.y = static_cast<unsigned>(problem.batch);
    launch.block.x = static_cast<unsigned>(shape.waves_down * shape.waves_across) *
                     static_cast<unsigned>(device_.facts().wave_size);
    launch.dynamic_shared_bytes = static_cast<unsigned>(shape.shared_bytes());
    TRY(kernel->allow_dynamic_shared(launch.dynamic_shared_bytes));
    return std::unique_ptr<GemmPlan>(
        std::make_unique<OwnPlan>(problem, std::move(program), *kernel, launch));
  }

 private:
  static GemmAlgorithm algorithm_of(const TileShape& shape) {
    return {fmt::format("tile={}x{}x{} stages={} waves={}x{}", shape.rows, shape.columns,
                        shape.depth, shape.stages, shape.waves_down, shape.waves_across),
            0,
            {shape.rows, shape.columns, shape.depth, shape.stages, shape.waves_down,
             shape.waves_across, shape.blocks}};
  }

  Device& device_;
  BlasFacts facts_;
};

Result<std::unique_ptr<Blas>> open(Device& device) {
  return std::unique_ptr<Blas>(std::make_unique<OwnBlas>(device));
}

BlasProvider provider_for(std::string_view backend) {
  return {"own", backend, 0, &unsupported, &open, true};
}
const BlasRegistry::Add for_cuda{provider_for("cuda")};
const BlasRegistry::Add for_hip{provider_for("hip")};
const BlasRegistry::Add for_cpu{provider_for("cpu")};
const BlasRegistry::Add for_fake{provider_for("fake")};

}  // namespace
}  // namespace assay
