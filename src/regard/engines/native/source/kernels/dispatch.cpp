#include <cstring>

#if defined(REGARD_AMX) && !defined(REGARD_SIMDE)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

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

#ifdef REGARD_AMX
// Linux gives a process the tile registers when it asks for them, and all of its threads have them then.
bool has_amx_int8() {
#ifdef REGARD_SIMDE
  return true;
#else
  static const bool granted = [] {
    constexpr unsigned kTiles = 1u << 24, kInt8 = 1u << 25;
    constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    unsigned a, b, c, d;
    return has_avx512_vnni() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kTiles) && (d & kInt8) &&
           syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
  }();
  return granted;
#endif
}
#endif
#endif

}  // namespace

const Kernels* find_kernels(const char* name) {
#ifdef REGARD_X86
  const bool any = std::strcmp(name, "auto") == 0;
#ifdef REGARD_AMX  // only by its name: it is equal to AVX-512 bit for bit, but its speed is not measured yet
  if (std::strcmp(name, kAmxKernels.name) == 0 && has_amx_int8()) return &kAmxKernels;
#endif
  if ((any || std::strcmp(name, kAvx512Kernels.name) == 0) && has_avx512_vnni()) return &kAvx512Kernels;
  if ((any || std::strcmp(name, kAvx2Kernels.name) == 0) && has_avx2()) return &kAvx2Kernels;
  if (any) return &kPlainKernels;
#endif
  return std::strcmp(name, kPlainKernels.name) == 0 || std::strcmp(name, "auto") == 0 ? &kPlainKernels : nullptr;
}

}  // namespace regard
