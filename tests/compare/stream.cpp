// STREAM-style OpenMP loops (McCalpin's copy, scale, add, triad) in their usual form,
// for comparison with `assay run memory` in the same run. Built by scripts/compare-cpu with
//   g++ -O3 -march=native -fopenmp
// Usage: stream BYTES_PER_ARRAY REPETITIONS; prints the median bandwidth of each loop in bytes/s.
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: stream BYTES_PER_ARRAY REPETITIONS\n");
    return 2;
  }
  const long n = std::atol(argv[1]) / static_cast<long>(sizeof(double));
  const int repetitions = std::atoi(argv[2]);
  auto* a = static_cast<double*>(std::aligned_alloc(4096, n * sizeof(double)));
  auto* b = static_cast<double*>(std::aligned_alloc(4096, n * sizeof(double)));
  auto* c = static_cast<double*>(std::aligned_alloc(4096, n * sizeof(double)));
#pragma omp parallel for
  for (long i = 0; i < n; ++i) {
    a[i] = 1;
    b[i] = 2;
    c[i] = 0;
  }
  const char* names[] = {"copy", "mul", "add", "triad"};
  const double arrays[] = {2, 2, 3, 3};
  const double scalar = 3;
  std::vector<double> seconds[4];
  for (int r = 0; r < repetitions; ++r) {
    for (int k = 0; k < 4; ++k) {
      const double start = omp_get_wtime();
      switch (k) {
        case 0:
#pragma omp parallel for
          for (long i = 0; i < n; ++i) c[i] = a[i];
          break;
        case 1:
#pragma omp parallel for
          for (long i = 0; i < n; ++i) b[i] = scalar * c[i];
          break;
        case 2:
#pragma omp parallel for
          for (long i = 0; i < n; ++i) c[i] = a[i] + b[i];
          break;
        default:
#pragma omp parallel for
          for (long i = 0; i < n; ++i) a[i] = b[i] + scalar * c[i];
      }
      seconds[k].push_back(omp_get_wtime() - start);
    }
    // Keeps the values finite over any number of repetitions, outside the timed loops.
    if (r % 8 == 7) {
#pragma omp parallel for
      for (long i = 0; i < n; ++i) {
        a[i] = 1;
        b[i] = 2;
        c[i] = 0;
      }
    }
  }
  for (int k = 0; k < 4; ++k) {
    std::sort(seconds[k].begin(), seconds[k].end());
    std::printf("%s %.6e\n", names[k],
                arrays[k] * n * sizeof(double) / seconds[k][seconds[k].size() / 2]);
  }
}
