// Facts, sensors and clocks of the device, and whether its compiler builds kernels.
#include <chrono>
#include <thread>

#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "compute/device/helpers.h"
#include "core/regex.h"
#include "core/units.h"
#include "measure/sampling/clock_probe.h"
#include "measure/sampling/start_gate.h"

namespace assay::selftest::device_facts {
namespace {

Answer facts_are_filled_in(Stage& stage) {
  const DeviceFacts& facts = stage.device.facts();
  TRY(expect(!facts.name.empty(), "the device has no name"));
  TRY(expect(!facts.arch.empty(), "the device has no architecture"));
  const Pattern address =
      TRY(Pattern::compile_unicode("^[0-9a-f]+:[0-9a-f]+:[0-9a-f]+\\.[0-9a-f]$"));
  TRY(expect(address.next(facts.pci, 0).has_value(), "the device has no PCI address"));
  TRY(expect(!facts.uuid.empty(), "the device has no UUID"));
  TRY(expect(facts.memory_bytes >= std::uint64_t{1} << 30, "it has less than 1 GiB of memory"));
  TRY(expect(facts.last_level_cache_bytes > std::uint64_t{1} << 20,
             "its last-level cache is not larger than 1 MiB"));
  TRY(expect_within("multiprocessors", facts.multiprocessors, stage.large ? 11 : 1, 2048));
  TRY(expect(facts.wave_size == 32 || facts.wave_size == 64, "a wave is not 32 or 64 wide"));
  TRY(expect_equal("threads of the largest block", facts.max_threads_per_block, 1024));
  TRY(expect_within("highest engine clock in Hz", facts.clock_hz, 5e8, 1e10));
  const auto [free, total] = TRY(stage.device.memory_free_and_total());
  TRY(expect(free <= total, "more memory is free than there is"));
  return fmt::format("{}, {} multiprocessors, {}{}{}", facts.arch, facts.multiprocessors,
                     format_memory(facts.memory_bytes), facts.partition.empty() ? "" : ", ",
                     facts.partition);
}

Answer sensors(Stage& stage) {
  const SensorReading reading = stage.device.sense();
  if (!reading.power_watts && !reading.temperature_celsius) {
    return Error{ErrorKind::unavailable, "the driver reads neither power nor temperature here"};
  }
  std::string seen;
  if (reading.power_watts) {
    TRY(expect_within("power in W", *reading.power_watts, 10, 2000));
    seen = fmt::format("{:.0f} W", *reading.power_watts);
  }
  if (reading.temperature_celsius) {
    TRY(expect_within("temperature in degrees C", *reading.temperature_celsius, 5, 120));
    seen += fmt::format("{}{:.0f} C", seen.empty() ? "" : ", ", *reading.temperature_celsius);
  }
  return seen;
}

Answer engine_clock(Stage& stage) {
  if (!stage.device.facts().cycle_counter) {
    return Error{ErrorKind::unsupported, "kernels cannot read a cycle counter on this device"};
  }
  auto gate = TRY(Gate::create(stage.device));
  auto probe = TRY(ClockProbe::create(stage.device));
  TRY(probe.read_before(stage.stream));
  TRY(gate.close(stage.stream));
  TRY(probe.read_after(stage.stream));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  gate.open();
  TRY(stage.stream.synchronize());
  const auto clock = probe.clock_hz();
  TRY(expect(clock.has_value(), "the cycle counter or the wall clock does not advance"));
  if (!stage.device.facts().emulated) {
    TRY(expect_within("engine clock in Hz", *clock, 2e8, 1.05 * stage.device.facts().clock_hz));
  }
  return format_frequency(*clock);
}

Answer kernels_build(Stage& stage) {
  int built = 0;
  for (const std::string name :
       {"memory", "copy_check_pattern", "gate", "clock", "empty", "launch_attributes"}) {
    TRY(stage.device.build({name, {}}));
    ++built;
  }
  return fmt::format("{} programs", built);
}

const AddChecks registered{
    {.name = "device-facts",
     .topic = Topic::device,
     .about = "the driver reports plausible facts about the device",
     .run = &facts_are_filled_in},
    {.name = "sensors",
     .topic = Topic::device,
     .about = "power and temperature are plausible",
     .run = &sensors},
    {.name = "engine-clock",
     .topic = Topic::hardware,
     .about = "the cycle counter gives a plausible engine clock",
     .run = &engine_clock},
    {.name = "compiler",
     .topic = Topic::device,
     .about = "the run-time compiler builds kernels",
     .accelerator = false,
     .limit_seconds = 180,
     .run = &kernels_build},
};

}  // namespace
}  // namespace assay::selftest::device_facts
