#include <cstring>

#include "kernels.h"

namespace regard {
namespace {

#ifdef REGARD_X86
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

bool has_avx512_vnni() {
#ifdef REGARD_SIMDE  // emulated, for the tests
  return true;
#else
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni");
#endif
}
#endif

}  // namespace

const Kernels* find_kernels(const char* name) {
#ifdef REGARD_X86
  const bool any = std::strcmp(name, "auto") == 0;
  if ((any || std::strcmp(name, kAvx512Kernels.name) == 0) && has_avx512_vnni()) return &kAvx512Kernels;
  if ((any || std::strcmp(name, kAvx2Kernels.name) == 0) && has_avx2()) return &kAvx2Kernels;
  if (any) return &kPlainKernels;
#endif
  return std::strcmp(name, kPlainKernels.name) == 0 || std::strcmp(name, "auto") == 0 ? &kPlainKernels : nullptr;
}

}  // namespace regard
