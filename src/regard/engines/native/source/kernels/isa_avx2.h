// AVX2 and FMA: 16 registers of 8 floats.
//
// int8 products are made of int16: vpmaddwd multiplies pairs and adds them in int32, exactly. The other way, vpmaddubsw
// on |a| and sign(b), needs as many instructions and was slower here (126 to 140 beside 158 GOP/s on a Zen 3 core). Where
// activations are never negative no sign is needed: two products of at most 127 · 127 fit into 16 bits, vpmaddwd by ones
// adds pairs of them, and there are three instructions where the other way has four.
#pragma once

#include <immintrin.h>

namespace regard {
namespace REGARD_ISA {

constexpr int kWidth = 8;
constexpr int kTileRows = 6, kTilePanels = 1, kRowPanels = 3;  // 12 sums, 2 weights, 1 activation, 1 product: 16
constexpr int kGroup = 2, kOffset = 0;
using Integer = int16_t;
using PositiveInteger = uint8_t;
constexpr int kPositiveGroup = 4, kPositiveOffset = 0;

typedef float Vec __attribute__((vector_size(kWidth * 4)));
typedef int32_t Int __attribute__((vector_size(kWidth * 4)));

inline Vec all(float value) { return _mm256_set1_ps(value); }

inline Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }

inline float sum(Vec v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline void sum4(Vec a, Vec b, Vec c, Vec d, float* out) {
  const __m256 halves = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1)));
}

// sum4 for two rows at once, in the same order; the second row goes to out + stride.
inline void sum_fours(const Vec (&v)[2][4], float* out, size_t stride) {
  __m256 rows[2];
  REGARD_UNROLL for (int h = 0; h < 2; ++h)
    rows[h] = _mm256_hadd_ps(_mm256_hadd_ps(v[h][0], v[h][1]), _mm256_hadd_ps(v[h][2], v[h][3]));
  const __m256 found =
      _mm256_add_ps(_mm256_permute2f128_ps(rows[0], rows[1], 0x20), _mm256_permute2f128_ps(rows[0], rows[1], 0x31));
  _mm_storeu_ps(out, _mm256_castps256_ps128(found));
  _mm_storeu_ps(out + stride, _mm256_extractf128_ps(found, 1));
}

inline Vec greater(Vec a, Vec b) { return _mm256_max_ps(a, b); }  // b where one is not a number

inline float largest(Vec v) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

inline Int lanes() { return Int(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }

inline bool any_above(Vec v, Vec limit) { return _mm256_movemask_ps(_mm256_cmp_ps(v, limit, _CMP_GT_OQ)) != 0; }

template <int R, int P>
inline void multiply(const Integer* rows, size_t stride, const int8_t* panel, size_t panel_bytes, int depth,
                     Int (&sums)[R][P * kPanel / kWidth]) {
  for (int k = 0; k < depth; k += kGroup, panel += kPanel * kGroup) {
    __m256i weights[2 * P];
    REGARD_UNROLL for (int p = 0; p < 2 * P; ++p) {
      const int8_t* half = panel + p / 2 * panel_bytes + p % 2 * 16;
      weights[p] = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(half)));
    }
    REGARD_UNROLL for (int r = 0; r < R; ++r) {
      int32_t pair;
      __builtin_memcpy(&pair, rows + r * stride + k, sizeof pair);
      const __m256i row = _mm256_set1_epi32(pair);
      REGARD_UNROLL for (int p = 0; p < 2 * P; ++p)
        sums[r][p] = Int(_mm256_add_epi32(__m256i(sums[r][p]), _mm256_madd_epi16(row, weights[p])));
    }
  }
}

template <int R, int P>
inline void multiply(const PositiveInteger* rows, size_t stride, const int8_t* panel, size_t panel_bytes, int depth,
                     Int (&sums)[R][P * kPanel / kWidth]) {
  const __m256i ones = _mm256_set1_epi16(1);
  for (int k = 0; k < depth; k += kPositiveGroup, panel += kPanel * kPositiveGroup)
    REGARD_UNROLL for (int r = 0; r < R; ++r) {
      int32_t four;
      __builtin_memcpy(&four, rows + r * stride + k, sizeof four);
      const __m256i row = _mm256_set1_epi32(four);
      REGARD_UNROLL for (int p = 0; p < 2 * P; ++p) {
        const auto* weights = reinterpret_cast<const __m256i*>(panel + p / 2 * panel_bytes + p % 2 * 32);
        const __m256i pairs = _mm256_maddubs_epi16(row, _mm256_loadu_si256(weights));
        sums[r][p] = Int(_mm256_add_epi32(__m256i(sums[r][p]), _mm256_madd_epi16(pairs, ones)));
      }
    }
}

}  // namespace REGARD_ISA
}  // namespace regard
