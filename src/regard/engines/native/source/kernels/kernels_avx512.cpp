#define REGARD_ISA isa_avx512
#define REGARD_ISA_HEADER "isa_avx512.h"
#include "kernels_body.h"

namespace regard {
const Kernels kAvx512Kernels = isa_avx512::table("avx512-vnni");
}
