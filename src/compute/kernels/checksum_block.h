// What the kernels of checksums share with host code.
#pragma once

/// Multiprocessors are numbered below this (multiprocessor_index() of the dialect), with gaps.
constexpr unsigned multiprocessor_numbers = 4096;

/// A stretch of memory that has a checksum of its own.
struct ChecksumBlock {
  unsigned long long address;  ///< a multiple of 8
  unsigned long long bytes;    ///< any number
};
