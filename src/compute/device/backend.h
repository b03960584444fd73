// A vendor's run-time stack as a whole: is it here, which versions, which devices.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/device/device.h"
#include "core/registry.h"
#include "core/result.h"

namespace assay {

/// One library the backend uses or looked for.
struct LibraryFact {
  std::string role;     ///< "driver", "runtime", "rtc"
  std::string path;     ///< where it was really loaded from; empty: not found
  std::string version;  ///< as the library itself reports it
  std::string problem;  ///< why it is absent: names tried, folders searched, what to install
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;

  /// 0: absent. Otherwise the backend with the highest score is the default one: accelerators rank
  /// above the CPU, and the scripted fake is never a default (-1).
  virtual int score() = 0;
  /// Why score() is 0, precise enough to act upon; empty otherwise.
  virtual std::string absence() = 0;
  virtual std::vector<LibraryFact> libraries() = 0;

  /// Facts of every device, cheap: no context is created. Empty when absent.
  virtual std::vector<DeviceFacts> devices() = 0;
  /// Error: usage if the ordinal is out of range; unavailable or failed otherwise.
  virtual Result<std::unique_ptr<Device>> open(int ordinal) = 0;
};

/// A factory per backend folder; nothing is loaded until the Backend is asked something.
using BackendFactory = std::unique_ptr<Backend> (*)();
using BackendRegistry = Registry<BackendFactory>;

/// Makes every registered backend, sorted by name.
std::vector<std::unique_ptr<Backend>> make_backends();

/// Libraries and devices of those that are present, by name, for the fingerprint.
Json facts_of(const std::vector<std::unique_ptr<Backend>>& backends);

/// Opens the device `choice` names: "cuda:1", "cpu", "hip" (ordinal 0), or "" for device 0 of the
/// backend with the highest score. Error: usage for a name or ordinal that does not exist, listing
/// what there is; unavailable for a backend that is absent, with the reason.
Result<std::unique_ptr<Device>> open_device(std::vector<std::unique_ptr<Backend>>& backends,
                                            std::string_view choice);

/// The device of a rank that is the `local_rank`th of its machine: `choice` if that has a number,
/// else the backend's device of that number; ranks on CPUs share the one device. Error: as
/// open_device(); usage if there are more ranks than devices.
Result<std::unique_ptr<Device>> open_device_of_rank(std::vector<std::unique_ptr<Backend>>& backends,
                                                    std::string_view choice, int local_rank);

}  // namespace assay
