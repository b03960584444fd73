// Our prototypes and numbers against the mpi.h that the including file has included: one file
// cannot include both MPIs.
#pragma once

#include <gtest/gtest.h>

#include "abi/abi_match.h"
#include "ranks/collective/mpi_api.h"

namespace assay::mpi {

template <typename H>
void expect_what_all_mpi_share() {
#define MATCH(member, symbol, parameters) ASSAY_EXPECT_MATCH(Functions<H>, member, symbol)
  ASSAY_MPI_FUNCTIONS(MATCH)
#undef MATCH
  EXPECT_EQ(success, MPI_SUCCESS);
  EXPECT_EQ(thread_single, MPI_THREAD_SINGLE);
  EXPECT_EQ(thread_serialized, MPI_THREAD_SERIALIZED);
  EXPECT_EQ(undefined_colour, MPI_UNDEFINED);
  EXPECT_EQ(sizeof(std::ptrdiff_t), sizeof(MPI_Aint));
  EXPECT_EQ(sizeof(H), sizeof(MPI_Comm));
  EXPECT_EQ(sizeof(H), sizeof(MPI_Datatype));
  EXPECT_EQ(sizeof(H), sizeof(MPI_Op));
  EXPECT_EQ(sizeof(H), sizeof(MPI_Request));
  EXPECT_EQ(sizeof(H), sizeof(MPI_Errhandler));
  EXPECT_GE(longest_text, MPI_MAX_ERROR_STRING);
  EXPECT_GE(longest_text, MPI_MAX_LIBRARY_VERSION_STRING);
  // In the order of native_types and native_reductions, as in the lists of handles.
  EXPECT_EQ(native_types[0], DataType::f64);
  EXPECT_EQ(native_types[7], DataType::u64);
  EXPECT_EQ(native_reductions[3], Reduction::max);
}

}  // namespace assay::mpi
