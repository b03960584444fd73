// A vendor's run-time stack as a whole: whether it is present, its versions and devices.
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

/// A library that the backend uses or looked for.
struct LibraryFact {
  std::string role;     ///< "driver", "management", "runtime", "rtc"
  std::string path;     ///< where it was really loaded from; empty: not found
  std::string version;  ///< as the library itself reports it
  std::string problem;  ///< why it is absent: names tried, folders searched, what to install
};

/// There is a derived class for each folder of compute/backends. Its functions may be called in any
/// order, on one thread at a time.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;

  /// 0: absent. Otherwise the backend with the highest score is the default one: accelerators rank
  /// above the CPU, and the scripted fake is never a default (-1).
  virtual int score() = 0;
  /// Returns why score() is 0, precise enough to act on; otherwise empty.
  virtual std::string absence() = 0;
  virtual std::vector<LibraryFact> libraries() = 0;

  /// Returns the facts of every device without creating a context; empty if the backend is absent.
  virtual std::vector<DeviceFacts> devices() = 0;
  /// Error: usage if the ordinal is out of range; unavailable if the backend is absent; the
  /// driver's otherwise (device.h).
  virtual Result<std::unique_ptr<Device>> open(int ordinal) = 0;
};

/// A factory per backend folder; nothing is loaded until the Backend is first used.
using BackendFactory = std::unique_ptr<Backend> (*)();
using BackendRegistry = Registry<BackendFactory>;

/// Makes every registered backend, sorted by name.
std::vector<std::unique_ptr<Backend>> make_backends();

/// Returns {"cuda": {"libraries": [...], "devices": [...]}, ...} for the fingerprint: the backends
/// that may be the default, so never the fake one. Libraries that were not found are left out.
Json facts_of(const std::vector<std::unique_ptr<Backend>>& backends);

/// Opens the device named by `choice`: "cuda:1", "cpu", "hip" (ordinal 0), or "" for device 0 of
/// the backend with the highest score. Error: usage for a name or ordinal that does not exist,
/// listing those that do; unavailable for a backend that is absent, with the reason, or if all are;
/// as Backend::open().
Result<std::unique_ptr<Device>> open_device(std::vector<std::unique_ptr<Backend>>& backends,
                                            std::string_view choice);

/// Returns whether `choice`, as for open_device(), selects the machine's CPUs. It does not check
/// whether that device exists.
bool chooses_cpu(const std::vector<std::unique_ptr<Backend>>& backends, std::string_view choice);

/// Opens the device for rank `local_rank` of its machine: the device in `choice` if that has an
/// ordinal, otherwise device number `local_rank` of the backend. A single device that is not on the
/// PCI bus, as cpu:0, is shared by all ranks. Error: as open_device(); usage if the backend has no
/// device of that number.
Result<std::unique_ptr<Device>> open_device_of_rank(std::vector<std::unique_ptr<Backend>>& backends,
                                                    std::string_view choice, int local_rank);

}  // namespace assay
