#include "core/older_glibc/functions.h"

// These declare the functions under the names that every glibc has, whatever the headers make of
// "strtol".
extern "C" {
long plain_strtol(const char*, char**, int) __asm__("strtol");
unsigned long plain_strtoul(const char*, char**, int) __asm__("strtoul");
long long plain_strtoll(const char*, char**, int) __asm__("strtoll");
unsigned long long plain_strtoull(const char*, char**, int) __asm__("strtoull");
}

[[gnu::visibility("hidden")]] long assay_isoc23_strtol(const char* text, char** end, int base) {
  return plain_strtol(text, end, base);
}

[[gnu::visibility("hidden")]] unsigned long assay_isoc23_strtoul(const char* text, char** end,
                                                                 int base) {
  return plain_strtoul(text, end, base);
}

[[gnu::visibility("hidden")]] long long assay_isoc23_strtoll(const char* text, char** end,
                                                             int base) {
  return plain_strtoll(text, end, base);
}

[[gnu::visibility("hidden")]] unsigned long long assay_isoc23_strtoull(const char* text, char** end,
                                                                       int base) {
  return plain_strtoull(text, end, base);
}
