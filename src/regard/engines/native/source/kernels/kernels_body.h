// All kernels of one instruction set. REGARD_ISA names its namespace, and keeps the sets apart for the linker.
#define REGARD_UNROLL _Pragma("GCC unroll 16")
#define REGARD_INLINE __attribute__((always_inline)) inline
#include "kernels.h"
#include REGARD_ISA_HEADER
#include "vectors.h"

#ifdef REGARD_BLOCKS
#include "amx.h"
#endif
#include "gemm.h"

#include "attention.h"
#include "norms.h"
#include "select.h"

namespace regard {
namespace REGARD_ISA {

static constexpr Kernels table(const char* name) {
  constexpr IntegerKernels integers = {Int8Kind::kGroup, Int8Kind::kOffset, sizeof(Int8Kind::Element),
                                       quantise<Int8Kind>, product<Int8Kind>};
  constexpr IntegerKernels positive = {PositiveKind::kGroup, PositiveKind::kOffset, sizeof(PositiveKind::Element),
                                       quantise<PositiveKind>, product<PositiveKind>};
  return {name, integers, positive, norm, product<FloatKind>, select<Int8Kind>, select<FloatKind>, attend};
}

}  // namespace REGARD_ISA
}  // namespace regard
