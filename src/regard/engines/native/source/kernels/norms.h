// What is done to a row before a matrix: LayerNorm, and rounding to integers. One pass after the other over a row that
// stays in the first cache.
#pragma once

namespace regard {
namespace REGARD_ISA {

// Fold the vectors of a row into one: four chains, so that none waits for the instruction before it.
template <class Value, class Fold>
inline Vec folded(int depth, const Value& value, const Fold& fold) {
  constexpr int kChains = 4;
  Vec chains[kChains] = {};
  int k = 0;
  for (; k + kChains * kWidth <= depth; k += kChains * kWidth)
    REGARD_UNROLL for (int c = 0; c < kChains; ++c) chains[c] = fold(chains[c], value(k + c * kWidth));
  for (; k < depth; k += kWidth) chains[0] = fold(chains[0], value(k));
  return fold(fold(chains[0], chains[1]), fold(chains[2], chains[3]));
}

inline Vec plus(Vec a, Vec b) { return a + b; }

// The largest magnitude becomes 127, as CTranslate2 has it; a row of zeros keeps a scale of 1.
template <class Kind>
inline void round_row(const float* row, int depth, float largest_magnitude, void* integers, float* scale) {
  using Integer = typename Kind::Element;
  const float by = largest_magnitude > 0 ? 127.0f / largest_magnitude : 1.0f;
  typedef Integer Packed __attribute__((vector_size(kWidth * sizeof(Integer))));
  for (int k = 0; k < depth; k += kWidth) {
    const Packed packed = __builtin_convertvector(nearest(load(row + k) * by) + Kind::kOffset, Packed);
    __builtin_memcpy(static_cast<Integer*>(integers) + k, &packed, sizeof packed);
  }
  *scale = 1.0f / by;
}

template <class Kind>
inline void quantise(const float* row, int depth, void* integers, float* scale) {
  const Vec most = folded(depth, [&](int k) { return magnitude(load(row + k)); }, greater);
  round_row<Kind>(row, depth, largest(most), integers, scale);
}

inline void norm(const float* row, int size, int depth, const float* gain, const float* bias, float* out,
                 void* integers, float* scale) {
  constexpr float kEpsilon = 1e-5f;  // torch's
  const float mean = sum(folded(depth, [&](int k) { return load(row + k); }, plus)) / size;
  const auto square_of = [&](int k) {
    const Vec centred = load(row + k) - mean;
    return centred * centred;
  };
  const int whole = size / kWidth * kWidth;
  float squares = sum(folded(whole, square_of, plus));
  for (int k = whole; k < size; ++k) squares += (row[k] - mean) * (row[k] - mean);
  const float by = 1.0f / __builtin_sqrtf(squares / size + kEpsilon);
  const auto write = [&](int k) {  // gain and bias are 0 beyond size, and so is what they make
    const Vec normed = fma((load(row + k) - mean) * by, load(gain + k), load(bias + k));
    store(out + k, normed);
    return magnitude(normed);
  };
  const Vec most = folded(depth, write, greater);
  if (integers != nullptr) round_row<Int8Kind>(out, depth, largest(most), integers, scale);
}

}  // namespace REGARD_ISA
}  // namespace regard
