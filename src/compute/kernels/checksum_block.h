// A stretch of memory that has a checksum of its own. Shared by kernels and host code.
#pragma once

struct ChecksumBlock {
  unsigned long long address;  ///< a multiple of 8
  unsigned long long bytes;
};
