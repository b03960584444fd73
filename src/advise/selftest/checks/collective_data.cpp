// The data with which collectives are measured: the device writes and checks it as the host does.
#include <span>
#include <vector>

#include "advise/selftest/check.h"
#include "advise/selftest/contracts/collective_data_contract.h"
#include "compute/device/backend.h"

namespace assay::selftest::collective_data {
namespace {

constexpr DataType wide[] = {DataType::f64, DataType::f32};
constexpr DataType narrow[] = {DataType::f16,  DataType::bf16,      DataType::e4m3,
                               DataType::e5m2, DataType::e4m3_fnuz, DataType::e5m2_fnuz};
constexpr DataType integers[] = {DataType::i8,  DataType::u8,  DataType::i32,
                                 DataType::u32, DataType::i64, DataType::u64};

std::size_t elements(const Stage& stage) {
  return stage.large ? 100003 : 1003;
}

Answer check_reductions(Stage& stage, std::span<const DataType> types) {
  for (const DataType type : types) {
    for (int reduction = 0; reduction <= static_cast<int>(Reduction::avg); ++reduction) {
      for (const int ranks : stage.large ? std::vector{3, 24} : std::vector{3}) {
        TRY(check_reduced_data(stage.device, stage.stream, type, static_cast<Reduction>(reduction),
                               ranks, elements(stage)));
      }
    }
  }
  return passed();
}

Answer check_bits(Stage& stage) {
  auto backends = make_backends();
  const auto cpu = TRY(open_device(backends, "cpu"));
  const auto cpu_stream = TRY(cpu->create_stream());
  for (const DataType type : {DataType::u8, DataType::f16, DataType::f32, DataType::u64}) {
    TRY(check_same_bits(stage.device, stage.stream, *cpu, *cpu_stream, type, elements(stage)));
  }
  return passed();
}

const AddChecks registered{
    {.name = "collective-data-wide",
     .topic = Topic::kernels,
     .about = "data for reductions of f64 and f32 is what the host computes",
     .accelerator = false,
     .run = [](Stage& stage) { return check_reductions(stage, wide); }},
    {.name = "collective-data-narrow",
     .topic = Topic::kernels,
     .about = "data for reductions of f16, bf16 and fp8 is what the host computes",
     .accelerator = false,
     .run = [](Stage& stage) { return check_reductions(stage, narrow); }},
    {.name = "collective-data-integers",
     .topic = Topic::kernels,
     .about = "data for reductions of integers is what the host computes",
     .accelerator = false,
     .run = [](Stage& stage) { return check_reductions(stage, integers); }},
    {.name = "collective-data-bits",
     .topic = Topic::kernels,
     .about = "data of collectives has the bits of the CPU's",
     .run = &check_bits},
};

}  // namespace
}  // namespace assay::selftest::collective_data
