// Plain C++: vectors of 8 floats as the compiler makes them. The reference for the other sets, and for any processor.
#pragma once

namespace regard {
namespace REGARD_ISA {

constexpr int kWidth = 8;  // floats in a vector
constexpr int kTileRows = 4, kTilePanels = 1, kRowPanels = 1;
constexpr int kGroup = 4, kOffset = 0;
using Integer = int8_t;
using PositiveInteger = Integer;
constexpr int kPositiveGroup = kGroup, kPositiveOffset = kOffset;

typedef float Vec __attribute__((vector_size(kWidth * 4)));
typedef int32_t Int __attribute__((vector_size(kWidth * 4)));

inline Vec all(float value) { return Vec{value, value, value, value, value, value, value, value}; }

inline Vec fma(Vec a, Vec b, Vec c) { return a * b + c; }

inline float sum(Vec v) { return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])); }

inline void sum4(Vec a, Vec b, Vec c, Vec d, float* out) {
  out[0] = sum(a), out[1] = sum(b), out[2] = sum(c), out[3] = sum(d);
}

inline void sum_fours(const Vec (&v)[2][4], float* out, size_t stride) {
  for (int h = 0; h < 2; ++h) sum4(v[h][0], v[h][1], v[h][2], v[h][3], out + h * stride);
}

inline Vec greater(Vec a, Vec b) { return a > b ? a : b; }  // b where one is not a number

inline float largest(Vec v) {
  float found = v[0];
  for (int lane = 1; lane < kWidth; ++lane) found = v[lane] > found ? v[lane] : found;
  return found;
}

inline Int lanes() { return Int{0, 1, 2, 3, 4, 5, 6, 7}; }

inline bool any_above(Vec v, Vec limit) {
  bool any = false;
  for (int lane = 0; lane < kWidth; ++lane) any |= v[lane] > limit[lane];
  return any;
}

template <int R, int P>
inline void multiply(const Integer* rows, size_t stride, const int8_t* panel, size_t, int depth,
                     Int (&sums)[R][P * kPanel / kWidth]) {
  for (int k = 0; k < depth; ++k) {
    const int8_t* group = panel + (k / kGroup * kPanel * kGroup) + k % kGroup;
    for (int r = 0; r < R; ++r)
      for (int column = 0; column < kPanel; ++column)
        sums[r][column / kWidth][column % kWidth] += int32_t(rows[r * stride + k]) * group[column * kGroup];
  }
}

}  // namespace REGARD_ISA
}  // namespace regard
