// glibc 2.38 has a second fmod(), which does not set errno, besides the one in every glibc. Static
// libraries compiled with it request the second and get the first, which computes the same.
#include <features.h>

#if defined(__x86_64__) && __GLIBC_PREREQ(2, 38)

extern "C" {
double every_glibcs_fmod(double x, double y);
__asm__(".symver every_glibcs_fmod, fmod@GLIBC_2.2.5");

[[gnu::visibility("hidden")]] double assay_fmod(double x, double y) __asm__("fmod");

double assay_fmod(double x, double y) {
  return every_glibcs_fmod(x, y);
}
}

#endif
