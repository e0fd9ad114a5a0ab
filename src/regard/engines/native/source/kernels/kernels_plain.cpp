#define REGARD_ISA isa_plain
#define REGARD_ISA_HEADER "isa_plain.h"
#include "kernels_body.h"

namespace regard {
const Kernels kPlainKernels = isa_plain::table("plain");
}
