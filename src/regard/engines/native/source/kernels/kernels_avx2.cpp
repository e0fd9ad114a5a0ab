#define REGARD_ISA isa_avx2
#define REGARD_ISA_HEADER "isa_avx2.h"
#include "kernels_body.h"

namespace regard {
const Kernels kAvx2Kernels = isa_avx2::table("avx2");
}
