// What all instruction sets write alike with the compiler's own vectors: memory, rounding and the exponential.
#pragma once

namespace regard {
namespace REGARD_ISA {

constexpr int kPerPanel = kPanel / kWidth;  // vectors in a panel

// A number that templates can take from an argument.
template <int N>
struct Constant {
  constexpr operator int() const { return N; }
};

inline Vec load(const float* from) {
  Vec v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

inline Int load(const int32_t* from) {
  Int v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

inline void store(float* to, Vec v) { __builtin_memcpy(to, &v, sizeof v); }

inline Vec magnitude(Vec v) { return Vec(Int(v) & 0x7fffffff); }

inline Vec to_float(Int v) { return __builtin_convertvector(v, Vec); }

// The nearest integers, of two the even one, for numbers below 2^22: adding 1.5 · 2^23 leaves no bits for a fraction.
constexpr float kRounding = 12582912.0f;

inline Int nearest(Vec v) { return Int(v + kRounding) - Int(all(kRounding)); }

// e^x for x up to 88, within 2 units of the last place: x = n ln 2 + r with |r| <= ln 2 / 2, then the series of e^r up
// to r^7.
inline Vec exp_bounded(Vec x) {
  x = greater(all(-87.0f), x);
  const Int n = nearest(x * 1.44269504f);
  const Vec times = to_float(n);
  Vec r = fma(times, all(-0.693359375f), x);  // ln 2 in two parts, the first of which is exact in few bits
  r = fma(times, all(2.12194440e-4f), r);
  Vec series = all(1.0f / 5040);
  series = fma(series, r, all(1.0f / 720));
  series = fma(series, r, all(1.0f / 120));
  series = fma(series, r, all(1.0f / 24));
  series = fma(series, r, all(1.0f / 6));
  series = fma(series, r, all(0.5f));
  series = fma(series, r, all(1.0f));
  series = fma(series, r, all(1.0f));
  return series * Vec((n + 127) << 23);
}

inline Vec exp(Vec x) { return exp_bounded(x > 88.0f ? all(88.0f) : x); }

// GELU's x Φ(x), with erf as Abramowitz and Stegun have it (7.1.26), which is within 2e-7.
inline Vec gelu(Vec x) {
  const Vec z = magnitude(x) * 0.70710678f;
  const Vec t = 1.0f / (z * 0.3275911f + 1.0f);
  Vec series = all(1.061405429f);
  series = fma(series, t, all(-1.453152027f));
  series = fma(series, t, all(1.421413741f));
  series = fma(series, t, all(-0.284496736f));
  series = fma(series, t, all(0.254829592f));
  const Vec rest = series * t * exp(-(z * z));  // 1 - erf(z)
  return x > 0.0f ? x - 0.5f * x * rest : 0.5f * x * rest;
}

inline Vec relu(Vec x) { return greater(x, Vec{}); }

inline Vec activate(Vec x, Activation activation) {
  switch (activation) {
    case Activation::kRelu: return relu(x);
    case Activation::kGelu: return gelu(x);
    case Activation::kSilu: return x / (exp(-x) + 1.0f);
    default: return x;
  }
}

}  // namespace REGARD_ISA
}  // namespace regard
