#ifdef HAS_MPICH_HEADER
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "abi/mpi_header_checks.h"

namespace assay::mpi {
namespace {

TEST(MpichHeader, Prototypes) {
  expect_what_all_mpi_share<MpichHandle>();
}

TEST(MpichHeader, Numbers) {
  const NativeHandles<MpichHandle>& ours = mpich_numbers;
  EXPECT_EQ(ours.world, MPI_COMM_WORLD);
  EXPECT_EQ(ours.byte, MPI_BYTE);
  EXPECT_EQ(ours.errors_return, MPI_ERRORS_RETURN);
  EXPECT_EQ(ours.types[0], MPI_DOUBLE);
  EXPECT_EQ(ours.types[1], MPI_FLOAT);
  EXPECT_EQ(ours.types[2], MPI_INT8_T);
  EXPECT_EQ(ours.types[3], MPI_INT32_T);
  EXPECT_EQ(ours.types[4], MPI_UINT8_T);
  EXPECT_EQ(ours.types[5], MPI_UINT32_T);
  EXPECT_EQ(ours.types[6], MPI_INT64_T);
  EXPECT_EQ(ours.types[7], MPI_UINT64_T);
  EXPECT_EQ(ours.reductions[0], MPI_SUM);
  EXPECT_EQ(ours.reductions[1], MPI_PROD);
  EXPECT_EQ(ours.reductions[2], MPI_MIN);
  EXPECT_EQ(ours.reductions[3], MPI_MAX);
  EXPECT_EQ(mpich_in_place, reinterpret_cast<std::ptrdiff_t>(MPI_IN_PLACE));
  EXPECT_EQ(mpich_statuses_ignore, reinterpret_cast<std::size_t>(MPI_STATUSES_IGNORE));
}

}  // namespace
}  // namespace assay::mpi
#else
#include <gtest/gtest.h>
TEST(MpichHeader, Prototypes) {
  GTEST_SKIP() << "MPICH's mpi.h is not installed";
}
#endif
