// Holds what the user asks `assay tune gemm` for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "advise/tune/gemm/override_file.h"
#include "advise/tune/gemm/product_list.h"
#include "advise/tune/gemm/product_tuner.h"
#include "cli/advise/tune_devices.h"
#include "cli/command.h"

namespace assay::cli {

struct TuneGemmRequest {
  ProductList products;  ///< in the order given, before the device is known
  TuneGemmSettings settings;
  TunePlace place;
  OverrideFormat format = OverrideFormat::named;
  std::string python = "python3", pytorch;  ///< --python; --pytorch, a version; empty: not given
  std::string validators_file;              ///< --validators; empty: not given
  std::vector<std::string> read_files;      ///< --read
  bool list_only = false;                   ///< --dry-run
  bool check = false, json = false;         ///< --check-pytorch; --json
};

/// Reads the options. Error: usage; as reading the files and models that they name.
Result<TuneGemmRequest> read_tune_gemm(const Arguments& arguments);

}  // namespace assay::cli
