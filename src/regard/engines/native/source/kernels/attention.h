// Attention (equation 1) for one query: scores of four positions at a time, softmax, and the sum of weighted values.
//
// Where a position's keys and values stand is looked up in a table of offsets. So the hypotheses of a beam share what
// they have in common without copying it, and a greedy row or a source is the case of a regular table.
//
// Positions are the outer loops and heads the inner ones: the keys of all heads at a position lie side by side, and so do
// the values. A score is the same sum, in the same order, whichever heads are computed beside it.
#pragma once

namespace regard {
namespace REGARD_ISA {

constexpr int kScoreHeads = kWidth / 4;  // heads whose scores of four positions fill a vector

// Scores of four positions for H heads, which stand `stride` apart.
template <int H>
inline void four_scores(const float* query, const float* const (&key)[4], int d_k, float* scores, size_t stride) {
  Vec sums[H][4] = {};
  REGARD_UNROLL for (int h = 0; h < H; ++h)
    for (int k = h * d_k; k < (h + 1) * d_k; k += kWidth) {
      const Vec q = load(query + k);
      REGARD_UNROLL for (int i = 0; i < 4; ++i) sums[h][i] = fma(q, load(key[i] + k), sums[h][i]);
    }
  if constexpr (H == kScoreHeads)
    sum_fours(sums, scores, stride);
  else
    sum4(sums[0][0], sums[0][1], sums[0][2], sums[0][3], scores);
}

inline void scores_of(const float* query, const float* keys, const int32_t* offsets, int positions, int heads, int d_k,
                      float* scores, size_t stride) {
  for (int s = 0; s < positions; s += 4) {  // beyond the end the last position is taken again; scores have the room
    const float* key[4];
    REGARD_UNROLL for (int i = 0; i < 4; ++i) key[i] = keys + offsets[s + i < positions ? s + i : positions - 1];
    const float* q = query;
    float* out = scores + s;
    const auto next = [&](int count) {
      q += count * d_k;
      out += count * stride;
      REGARD_UNROLL for (int i = 0; i < 4; ++i) key[i] += count * d_k;
    };
    int head = 0;
    for (; head + kScoreHeads <= heads; head += kScoreHeads, next(kScoreHeads))
      four_scores<kScoreHeads>(q, key, d_k, out, stride);
    for (; head < heads; ++head, next(1)) four_scores<1>(q, key, d_k, out, stride);
  }
}

// Scores to weights that are not yet divided by their sum, which is returned.
inline float exponentials(float* scores, int positions, float scale) {
  const auto within = [&](int s, Vec v, float otherwise) {  // of a vector's lanes, those that have a position
    return s + kWidth <= positions ? v : lanes() < positions - s ? v : all(otherwise);
  };
  Vec most = all(-__builtin_inff());
  for (int s = 0; s < positions; s += kWidth) most = greater(most, within(s, load(scores + s), -__builtin_inff()));
  const float greatest = largest(most);
  float total = 0;
  for (int s = 0; s < positions; s += kWidth) {
    const Vec weights = within(s, exp((load(scores + s) - greatest) * scale), 0);
    store(scores + s, weights);
    total += sum(weights);
  }
  return total;
}

// The weighted values of H heads, N vectors of each.
template <int H, int N>
inline void weighted(const float* values, const int32_t* offsets, const float* weights, size_t stride, int positions,
                     int d_v, const float* by, float* out) {
  Vec sums[H][N] = {};
  for (int s = 0; s < positions; ++s)
    REGARD_UNROLL for (int h = 0; h < H; ++h) {
      const Vec weight = all(weights[h * stride + s]);
      REGARD_UNROLL for (int i = 0; i < N; ++i)
        sums[h][i] = fma(weight, load(values + offsets[s] + h * d_v + i * kWidth), sums[h][i]);
    }
  REGARD_UNROLL for (int h = 0; h < H; ++h)
    REGARD_UNROLL for (int i = 0; i < N; ++i) store(out + h * d_v + i * kWidth, sums[h][i] * by[h]);
}

// The weighted values of all heads: eight vectors at a time where heads have 1, 2, 4 or 8, so that enough sums are
// under way.
inline void weighted_values(const float* values, const int32_t* offsets, const float* weights, size_t stride,
                            int positions, int heads, int d_v, const float* by, float* out) {
  const int vectors = d_v / kWidth;
  int head = 0;
  const auto together = [&](auto many, auto each) {
    for (; head + many <= heads; head += many)
      weighted<many, each>(values + head * d_v, offsets, weights + head * stride, stride, positions, d_v, by + head,
                           out + head * d_v);
  };
  if (vectors == 1) together(Constant<8>(), Constant<1>());
  if (vectors == 2) together(Constant<4>(), Constant<2>());
  if (vectors == 4) together(Constant<2>(), Constant<4>());
  if (vectors == 8) together(Constant<1>(), Constant<8>());
  for (; head < heads; ++head)
    for (int v = 0; v < d_v; v += kWidth)
      weighted<1, 1>(values + head * d_v + v, offsets, weights + head * stride, stride, positions, d_v, by + head,
                     out + head * d_v + v);
}

inline void attend(const float* query, const float* keys, const float* values, const int32_t* offsets, int positions,
                   int heads, int d_k, int d_v, float scale, float* scores, float* out, float* mean_weights) {
  const size_t stride = scores_stride(positions);
  float* by = scores + heads * stride;
  scores_of(query, keys, offsets, positions, heads, d_k, scores, stride);
  for (int head = 0; head < heads; ++head) by[head] = 1.0f / exponentials(scores + head * stride, positions, scale);
  weighted_values(values, offsets, scores, stride, positions, heads, d_v, by, out);
  if (mean_weights == nullptr) return;
  for (int s = 0; s < positions; ++s) {
    mean_weights[s] = 0;
    for (int head = 0; head < heads; ++head) mean_weights[s] += scores[head * stride + s] * by[head] / heads;
  }
}

}  // namespace REGARD_ISA
}  // namespace regard
