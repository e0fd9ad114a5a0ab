// Attention (equation 1) for one query: scores of four positions at a time, softmax, and the sum of weighted values.
//
// Where a position's keys and values stand is looked up in a table of offsets. So the hypotheses of a beam share what
// they have in common without copying it, and a greedy row or a source is the case of a regular table.
#pragma once

namespace regard {
namespace REGARD_ISA {

inline void scores_of(const float* query, const float* keys, const int32_t* offsets, int positions, int d_k,
                      float* scores) {
  for (int s = 0; s < positions; s += 4) {  // beyond the end the last position is taken again; scores have the room
    const float* key[4];
    REGARD_UNROLL for (int i = 0; i < 4; ++i) key[i] = keys + offsets[s + i < positions ? s + i : positions - 1];
    Vec sums[4] = {};
    for (int k = 0; k < d_k; k += kWidth) {
      const Vec q = load(query + k);
      REGARD_UNROLL for (int i = 0; i < 4; ++i) sums[i] = fma(q, load(key[i] + k), sums[i]);
    }
    sum4(sums[0], sums[1], sums[2], sums[3], scores + s);
  }
}

// Scores to weights that are not yet divided by their sum, which is returned.
inline float exponentials(float* scores, int positions, float scale) {
  float most = scores[0];
  for (int s = 1; s < positions; ++s) most = scores[s] > most ? scores[s] : most;
  float total = 0;
  for (int s = 0; s < positions; s += kWidth) {
    Vec weights = exp((load(scores + s) - most) * scale);
    for (int lane = positions - s; lane < kWidth; ++lane) weights[lane] = 0;
    store(scores + s, weights);
    total += sum(weights);
  }
  return total;
}

template <int N>
inline void weighted(const float* values, const int32_t* offsets, const float* weights, int positions, float by,
                     float* out) {
  Vec sums[N] = {};
  for (int s = 0; s < positions; ++s) {
    const Vec weight = all(weights[s]);
    REGARD_UNROLL for (int i = 0; i < N; ++i)
      sums[i] = fma(weight, load(values + offsets[s] + i * kWidth), sums[i]);
  }
  REGARD_UNROLL for (int i = 0; i < N; ++i) store(out + i * kWidth, sums[i] * by);
}

inline void attend(const float* query, const float* keys, const float* values, const int32_t* offsets, int positions,
                   int heads, int d_k, int d_v, float scale, float* scores, float* out, float* mean_weights) {
  if (mean_weights != nullptr)
    for (int s = 0; s < positions; ++s) mean_weights[s] = 0;
  for (int head = 0; head < heads; ++head, query += d_k, keys += d_k, values += d_v, out += d_v) {
    scores_of(query, keys, offsets, positions, d_k, scores);
    const float by = 1.0f / exponentials(scores, positions, scale);
    constexpr int kMany = 8;  // vectors of a head's values that are summed at once
    int v = 0;
    for (; v + kMany * kWidth <= d_v; v += kMany * kWidth)
      weighted<kMany>(values + v, offsets, scores, positions, by, out + v);
    for (; v + 2 * kWidth <= d_v; v += 2 * kWidth) weighted<2>(values + v, offsets, scores, positions, by, out + v);
    for (; v < d_v; v += kWidth) weighted<1>(values + v, offsets, scores, positions, by, out + v);
    if (mean_weights != nullptr)
      for (int s = 0; s < positions; ++s) mean_weights[s] += scores[s] * by / heads;
  }
}

}  // namespace REGARD_ISA
}  // namespace regard
