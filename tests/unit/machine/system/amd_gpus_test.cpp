// Facts about AMD GPUs in sysfs that differ between drivers, models and virtual machines.
#include "machine/system/amd_gpus.h"

#include <gtest/gtest.h>

#include "machines/machines.h"

namespace assay {
namespace {

/// The files of a driver that reads errors through ACA, in place of those of an older one.
void use_aca(MemoryMachine& machine, int gpu, const std::string& memory_errors) {
  const std::string folder = amd_folder(gpu) + "/ras/";
  machine.erase(folder + "umc_err_count");
  machine.erase(folder + "gfx_err_count");
  machine.write(folder + "aca_umc", memory_errors);
  machine.write(folder + "aca_gfx", "ue: 0\nce: 0\nde: 0\n");
}

TEST(AmdGpus, ErrorsThatTheDriverReadsThroughAca) {
  MemoryMachine machine = mi355x();
  use_aca(machine, 3, "ue: 0\nce: 2\nde: 1\n");
  const std::vector<Gpu> gpus = read_amd_gpus(machine);
  EXPECT_EQ(gpus[3].ecc, true);
  EXPECT_EQ(gpus[3].state.correctable_errors, 2);
  EXPECT_EQ(gpus[3].state.uncorrectable_errors, 1);  // deferred
  EXPECT_EQ(gpus[2].ecc, true);
  EXPECT_EQ(gpus[2].state.uncorrectable_errors, 0);
}

TEST(AmdGpus, AFolderWithoutCountsSaysThatEccIsOffUnlessAHostKeepsThem) {
  MemoryMachine node = mi355x();
  node.erase(amd_folder(0) + "/ras/umc_err_count");
  EXPECT_EQ(read_amd_gpus(node)[0].ecc, false);
  MemoryMachine guest = vf_in_vm();
  guest.write(amd_folder(0) + "/ras/features", "feature mask: 0x1\n");
  EXPECT_EQ(read_amd_gpus(guest)[0].ecc, std::nullopt);
  guest.write(amd_folder(0) + "/ras/umc_err_count", "ue: 0\nce: 0\nde: 0\n");
  EXPECT_EQ(read_amd_gpus(guest)[0].ecc, true);
}

TEST(AmdGpus, PagesThatTheDriverRetired) {
  MemoryMachine machine = mi355x();
  const std::string pages = amd_folder(1) + "/ras/gpu_vram_bad_pages";
  machine.write(pages, "");
  EXPECT_EQ(read_amd_gpus(machine)[1].state.retired_pages, std::nullopt);
  machine.write(pages, "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n");
  EXPECT_EQ(read_amd_gpus(machine)[1].state.retired_pages, 2);
}

TEST(AmdGpus, GuestsWithoutAProductNameAreNamedByTheirId) {
  MemoryMachine guest = vf_in_vm();
  guest.write(amd_folder(0) + "/product_name", "\n");
  for (const auto& [id, name] :
       {std::pair{"0x74bd", "AMD Instinct MI300X HF"}, {"0x74bc", "AMD Instinct MI308X VF"}}) {
    guest.write(amd_folder(0) + "/device", id);
    const Gpu gpu = read_amd_gpus(guest)[0];
    EXPECT_EQ(gpu.name, name);
    EXPECT_TRUE(gpu.virtual_function) << id;
  }
}

}  // namespace
}  // namespace assay
