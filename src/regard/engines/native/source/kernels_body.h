// All kernels of one instruction set. REGARD_ISA names its namespace, and keeps the sets apart for the linker.
#define REGARD_UNROLL _Pragma("GCC unroll 16")
#include "kernels.h"
#include REGARD_ISA_HEADER
#include "vectors.h"

#include "gemm.h"

#include "attention.h"
#include "norms.h"
#include "select.h"

namespace regard {
namespace REGARD_ISA {

static int exp_test(const float* in, float* out, int count) {
  for (int i = 0; i + kWidth <= count; i += kWidth) store(out + i, exp(load(in + i)));
  return count / kWidth * kWidth;
}

static constexpr Kernels table(const char* name) {
  return {name,           kGroup,
          kOffset,        sizeof(Integer),
          quantise,       norm,
          product<Int8Kind>, product<FloatKind>,
          select<Int8Kind>,  select<FloatKind>,
          attend,         exp_test};
}

}  // namespace REGARD_ISA
}  // namespace regard
