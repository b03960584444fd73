#ifdef HAS_OPEN_MPI_HEADER
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include "abi/mpi_header_checks.h"

namespace assay::mpi {
namespace {

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)

/// The header's macro for a handle takes the address of the symbol that we look up.
void expect_symbol(const std::string& macro, const std::string& symbol) {
  EXPECT_NE(macro.find("&(" + symbol + ")"), std::string::npos) << macro << " is not " << symbol;
}

TEST(OpenMpiHeader, Prototypes) {
  expect_what_all_mpi_share<OpenMpiHandle>();
}

TEST(OpenMpiHeader, HandlesAreAddressesOfTheseSymbols) {
  const OpenMpiSymbols& names = open_mpi_symbols;
  expect_symbol(TEXT_OF(MPI_COMM_WORLD), names.world);
  expect_symbol(TEXT_OF(MPI_BYTE), names.byte);
  expect_symbol(TEXT_OF(MPI_ERRORS_RETURN), names.errors_return);
  expect_symbol(TEXT_OF(MPI_DOUBLE), names.types[0]);
  expect_symbol(TEXT_OF(MPI_FLOAT), names.types[1]);
  expect_symbol(TEXT_OF(MPI_INT8_T), names.types[2]);
  expect_symbol(TEXT_OF(MPI_INT32_T), names.types[3]);
  expect_symbol(TEXT_OF(MPI_UINT8_T), names.types[4]);
  expect_symbol(TEXT_OF(MPI_UINT32_T), names.types[5]);
  expect_symbol(TEXT_OF(MPI_INT64_T), names.types[6]);
  expect_symbol(TEXT_OF(MPI_UINT64_T), names.types[7]);
  expect_symbol(TEXT_OF(MPI_SUM), names.reductions[0]);
  expect_symbol(TEXT_OF(MPI_PROD), names.reductions[1]);
  expect_symbol(TEXT_OF(MPI_MIN), names.reductions[2]);
  expect_symbol(TEXT_OF(MPI_MAX), names.reductions[3]);
  EXPECT_EQ(reinterpret_cast<std::size_t>(MPI_IN_PLACE), open_mpi_in_place);
  EXPECT_EQ(reinterpret_cast<std::size_t>(MPI_STATUSES_IGNORE), open_mpi_statuses_ignore);
}

}  // namespace
}  // namespace assay::mpi
#else
#include <gtest/gtest.h>
TEST(OpenMpiHeader, Prototypes) {
  GTEST_SKIP() << "Open MPI's mpi.h is not installed";
}
#endif
