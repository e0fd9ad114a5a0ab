// What is done to a row before a matrix: LayerNorm, and rounding to integers. One pass after the other over a row that
// stays in the first cache.
#pragma once

namespace regard {
namespace REGARD_ISA {

// The largest magnitude becomes 127, as CTranslate2 has it; a row of zeros keeps a scale of 1.
template <class Kind>
inline void quantise(const float* row, int depth, void* integers, float* scale) {
  using Integer = typename Kind::Element;
  Vec most = {};
  for (int k = 0; k < depth; k += kWidth) most = greater(most, magnitude(load(row + k)));
  const float largest_one = largest(most);
  const float by = largest_one > 0 ? 127.0f / largest_one : 1.0f;
  typedef Integer Packed __attribute__((vector_size(kWidth * sizeof(Integer))));
  for (int k = 0; k < depth; k += kWidth) {
    const Packed packed = __builtin_convertvector(nearest(load(row + k) * by) + Kind::kOffset, Packed);
    __builtin_memcpy(static_cast<Integer*>(integers) + k, &packed, sizeof packed);
  }
  *scale = 1.0f / by;
}

inline void norm(const float* row, int size, int depth, const float* gain, const float* bias, float* out,
                 void* integers, float* scale) {
  constexpr float kEpsilon = 1e-5f;  // torch's
  Vec total = {};
  for (int k = 0; k < depth; k += kWidth) total += load(row + k);
  const float mean = sum(total) / size;
  Vec squares = {};
  for (int k = 0; k < size / kWidth * kWidth; k += kWidth) {
    const Vec centred = load(row + k) - mean;
    squares = fma(centred, centred, squares);
  }
  float square = sum(squares);
  for (int k = size / kWidth * kWidth; k < size; ++k) square += (row[k] - mean) * (row[k] - mean);
  const float by = 1.0f / __builtin_sqrtf(square / size + kEpsilon);
  for (int k = 0; k < depth; k += kWidth)  // gain and bias are 0 beyond size, and so is what they make
    store(out + k, fma((load(row + k) - mean) * by, load(gain + k), load(bias + k)));
  if (integers != nullptr) quantise<Int8Kind>(out, depth, integers, scale);
}

}  // namespace REGARD_ISA
}  // namespace regard
