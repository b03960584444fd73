// Which MPI a process was started by, and what MPIs call themselves.
#include <gtest/gtest.h>

#include "ranks/collective/mpi_library.h"

namespace assay::mpi {
namespace {

using Kind = Launcher::Kind;

class MpiLauncherVariables : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name :
         {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK"}) {
      unsetenv(name);
    }
  }
};

TEST_F(MpiLauncherVariables, TellWhoStartedIt) {
  EXPECT_EQ(find_launcher().kind, Kind::none);
  setenv("PMIX_RANK", "3", 1);
  EXPECT_EQ(find_launcher().kind, Kind::either);
  EXPECT_EQ(find_launcher().processes, 0);
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  EXPECT_EQ(find_launcher().kind, Kind::open_mpi);
  EXPECT_EQ(find_launcher().processes, 8);
  clear();
  setenv("PMI_RANK", "1", 1);
  setenv("PMI_SIZE", "2", 1);
  EXPECT_EQ(find_launcher().kind, Kind::mpich);
  EXPECT_EQ(find_launcher().processes, 2);
}

TEST(MpiVersion, IsShort) {
  EXPECT_EQ(short_version("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"),
            "Open MPI 4.1.4");
  EXPECT_EQ(short_version("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7"), "MPICH 4.0.2");
  EXPECT_EQ(short_version("MVAPICH2 Version      :\t2.3.7\nMVAPICH2"), "MVAPICH2 2.3.7");
  EXPECT_EQ(short_version("Intel(R) MPI Library 2021.9 for Linux* OS\n"),
            "Intel(R) MPI Library 2021.9 for Linux* OS");
}

}  // namespace
}  // namespace assay::mpi
