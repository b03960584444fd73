// A vendor's backend: loads its library once, on the first query.
#pragma once

#include <memory>
#include <string>

#include "compute/backends/driver/dialect.h"

namespace assay::driver {

class DriverBackend : public Backend {
 public:
  /// Opens the vendor's driver library and fills its table, without initializing it.
  using Load = Result<std::unique_ptr<Dialect>> (*)();

  /// `role` of the driver library in LibraryFact: "driver", "runtime".
  DriverBackend(std::string_view name, std::string_view role, Load load)
      : name_(name), role_(role), load_(load) {}

  std::string_view name() const override { return name_; }
  int score() override;
  std::string absence() override;
  std::vector<LibraryFact> libraries() override;
  std::vector<DeviceFacts> devices() override;
  Result<std::unique_ptr<Device>> open(int ordinal) override;

 private:
  /// Loads the library and counts its devices, on the first call.
  void start();

  std::string_view name_;
  std::string_view role_;
  Load load_;
  bool started_ = false;
  std::shared_ptr<Dialect> dialect_;  // null if the library is absent
  int device_count_ = 0;
  std::string absence_;  // why there is no device; empty if there is one
};

}  // namespace assay::driver
