#define REGARD_ISA isa_amx
#define REGARD_ISA_HEADER "isa_avx512.h"
#define REGARD_BLOCKS
#include "kernels_body.h"

namespace regard {
const Kernels kAmxKernels = isa_amx::table("amx-int8");
}
