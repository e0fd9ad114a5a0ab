// One product alone, for the tests and for benchmarks/native_gemm.py.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "c_api.h"

using namespace regard;

namespace {

// Rows as a product reads them, padded with zeros.
struct Inputs {
  std::vector<float> floats, scale;
  std::vector<char> integers;
  Rows rows;

  Inputs(const IntegerKernels* kernels, const float* given, int count, int depth) {
    const int size = padded(depth);
    floats.resize(size_t(count) * size);
    scale.resize(count);
    if (kernels != nullptr) integers.resize(size_t(count) * size * kernels->bytes);
    for (int row = 0; row < count; ++row) {
      float* place = floats.data() + size_t(row) * size;
      std::copy_n(given + size_t(row) * depth, depth, place);
      if (kernels != nullptr) kernels->quantise(place, size, integers.data() + size_t(row) * size * kernels->bytes, &scale[row]);
    }
    rows = {floats.data(), size_t(size), nullptr, count};
    if (kernels != nullptr) rows = {integers.data(), size_t(size), scale.data(), count};
  }
};

}  // namespace

int32_t regard_native_product(const char* isa, const float* rows, int64_t count, const float* weight, const float* bias,
                              int64_t columns, int64_t depth, int32_t kind, int32_t repeats, float* out,
                              double* seconds) {
  const Kernels* kernels = find_kernels(isa);
  if (kernels == nullptr || count < 1 || columns < 1 || depth < 1) return 0;
  const IntegerKernels* integers = kind == 2 ? &kernels->positive : kind == 1 ? &kernels->integers : nullptr;
  const Weights weights = pack(integers, weight, bias, int(columns), int(depth));
  const Inputs inputs(integers, rows, int(count), int(depth));
  const int width = weights.matrix.columns;
  std::vector<float> results(size_t(count) * width);
  std::vector<float*> places(count);
  for (int64_t row = 0; row < count; ++row) places[row] = results.data() + row * width;
  const Product job{&weights.matrix, inputs.rows, places.data(), 0, width / kPanel};
  *seconds = 1e9;
  for (int32_t time = 0; time < std::max(1, repeats); ++time) {
    const auto started = std::chrono::steady_clock::now();
    (integers != nullptr ? integers->product : kernels->product_float)(job);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
    *seconds = std::min(*seconds, taken.count());
  }
  for (int64_t row = 0; row < count; ++row) std::copy_n(places[row], columns, out + row * columns);
  return 1;
}
