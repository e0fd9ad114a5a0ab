// AVX-512 with VNNI: 32 registers of 16 floats.
//
// vpdpbusd multiplies four unsigned by four signed bytes and adds them to an int32. Activations get an offset of 128 to
// be unsigned; Matrix::start, what the sums start from, takes it away again.
#pragma once

#ifdef REGARD_SIMDE  // the tests' build on a processor without AVX-512
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#undef _mm512_shuffle_f32x4  // SIMDe 0.7 has it, but not under this name
#define _mm512_shuffle_f32x4(a, b, imm8) simde_mm512_shuffle_f32x4(a, b, imm8)
#else
#include <immintrin.h>
#endif

namespace regard {
namespace REGARD_ISA {

constexpr int kWidth = 16;
constexpr int kTileRows = 5, kTilePanels = 4, kRowPanels = 8;  // 20 sums, 4 weights, 1 activation
constexpr int kGroup = 4, kOffset = 128;
using Integer = uint8_t;
using PositiveInteger = Integer;  // nothing is faster than vpdpbusd
constexpr int kPositiveGroup = kGroup, kPositiveOffset = kOffset;

typedef float Vec __attribute__((vector_size(kWidth * 4)));
typedef int32_t Int __attribute__((vector_size(kWidth * 4)));

inline Vec all(float value) { return Vec(_mm512_set1_ps(value)); }

inline Vec fma(Vec a, Vec b, Vec c) { return Vec(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c))); }

inline __m256 halves(Vec v) {
  __m256 half[2];
  __builtin_memcpy(half, &v, sizeof half);
  return _mm256_add_ps(half[0], half[1]);
}

inline float sum(Vec v) {
  const __m256 eight = halves(v);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline void sum4(Vec a, Vec b, Vec c, Vec d, float* out) {
  const __m256 eight =
      _mm256_hadd_ps(_mm256_hadd_ps(halves(a), halves(b)), _mm256_hadd_ps(halves(c), halves(d)));
  _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1)));
}

// The lanes that are left of pairs of neighbours, as _mm256_hadd_ps adds them.
inline __m512 pairs(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));
}

// sum4 for four rows at once, in the same order; row h goes to out + h · stride.
inline void sum_fours(const Vec (&v)[4][4], float* out, size_t stride) {
  __m512 rows[2];  // each has two rows, and of each row the sums of the lower and of the upper four of eight lanes
  REGARD_UNROLL for (int g = 0; g < 2; ++g) {
    __m512 eight[4];
    REGARD_UNROLL for (int i = 0; i < 4; ++i) {
      const __m512 a = __m512(v[2 * g][i]), b = __m512(v[2 * g + 1][i]);
      eight[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    }
    rows[g] = pairs(pairs(eight[0], eight[1]), pairs(eight[2], eight[3]));
  }
  const __m512 found = _mm512_add_ps(_mm512_shuffle_f32x4(rows[0], rows[1], 0x88),
                                     _mm512_shuffle_f32x4(rows[0], rows[1], 0xdd));
  _mm_storeu_ps(out, _mm512_castps512_ps128(found));
  _mm_storeu_ps(out + stride, _mm512_extractf32x4_ps(found, 1));
  _mm_storeu_ps(out + 2 * stride, _mm512_extractf32x4_ps(found, 2));
  _mm_storeu_ps(out + 3 * stride, _mm512_extractf32x4_ps(found, 3));
}

inline Vec greater(Vec a, Vec b) { return Vec(_mm512_max_ps(__m512(a), __m512(b))); }  // b where one is not a number

inline float largest(Vec v) {
  __m256 half[2];
  __builtin_memcpy(half, &v, sizeof half);
  const __m256 eight = _mm256_max_ps(half[0], half[1]);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

inline Int lanes() { return Int(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)); }

inline bool any_above(Vec v, Vec limit) {
  return _mm512_cmp_ps_mask(__m512(v), __m512(limit), _CMP_GT_OQ) != 0;
}

template <int R, int P>
inline void multiply(const Integer* rows, size_t stride, const int8_t* panel, size_t panel_bytes, int depth,
                     Int (&sums)[R][P]) {
  for (int k = 0; k < depth; k += kGroup, panel += kPanel * kGroup) {
    __m512i weights[P];
    REGARD_UNROLL for (int p = 0; p < P; ++p) weights[p] = _mm512_loadu_si512(panel + p * panel_bytes);
    REGARD_UNROLL for (int r = 0; r < R; ++r) {
      int32_t four;
      __builtin_memcpy(&four, rows + r * stride + k, sizeof four);
      const __m512i row = _mm512_set1_epi32(four);
      REGARD_UNROLL for (int p = 0; p < P; ++p)
        sums[r][p] = Int(_mm512_dpbusd_epi32(__m512i(sums[r][p]), row, weights[p]));
    }
  }
}

}  // namespace REGARD_ISA
}  // namespace regard
