#include "workspace.h"

#include <algorithm>
#include <limits>
#include <new>

namespace regard {

Workspace::Workspace(const Model& model, int rows, int tokens, int positions, int threads)
    : model(model),
      rows_(rows),
      tokens_(tokens),
      positions_(positions),
      memory_size_(model.memory_size),
      layer_size_(size_t(rows) * positions * model.memory_size),
      scores_stride_(model.config.heads * (scores_stride(std::max(positions, tokens)) + 1)) {
  if (layer_size_ > size_t(std::numeric_limits<int32_t>::max())) throw std::bad_alloc();  // offsets are 32 bits
  const int most = std::max(rows, tokens);
  const int widest = std::max(model.d_model, model.value_size);
  const size_t floats = size_t(most) * (2 * stride_of(model.d_model) + stride_of(model.query_size) +
                                        stride_of(model.value_size) + size_t(model.memory_size) + 1) +
                        size_t(kInnerRows) * (stride_of(model.d_ff) + 1) + threads * scores_stride_;
  const size_t integers_count = size_t(most) * widest + size_t(kInnerRows) * model.d_ff;
  buffers_ = Arena(checked_bytes(floats, sizeof(float)) + integers_count * model.kernels->integers.bytes + 16 * 64);
  x = carve<float>(most * stride_of(model.d_model));
  normed = carve<float>(most * stride_of(model.d_model));
  query = carve<float>(most * stride_of(model.query_size));
  attended = carve<float>(most * stride_of(model.value_size));
  encoder_memory = carve<float>(size_t(most) * model.memory_size);
  inner = carve<float>(kInnerRows * stride_of(model.d_ff));
  scale = carve<float>(most);
  inner_scale = carve<float>(kInnerRows);
  scores = carve<float>(threads * scores_stride_);
  integers = carve<char>(size_t(most) * widest * model.kernels->integers.bytes);
  inner_integers = carve<char>(size_t(kInnerRows) * model.d_ff * model.kernels->integers.bytes);
  const size_t layers = model.decoder.size();
  caches_ = Arena(checked_bytes(layer_size_, layers, sizeof(float)));
  memories_ = Arena(checked_bytes(layer_size_, layers, sizeof(float)));
  outputs_.resize(size_t(threads) * most);
  regular.resize(std::max(positions, tokens));
  for (size_t s = 0; s < regular.size(); ++s) regular[s] = int32_t(s) * memory_size_;
  selections.resize(size_t(threads) * rows);
  const int panels = model.projection().columns / kPanel;
  chunks = (panels + kChunk - 1) / kChunk;
  sums.resize(size_t(rows) * chunks);
}

template <class T>
T* Workspace::carve(size_t count) {
  T* found = reinterpret_cast<T*>(buffers_.as<char>() + used_);
  used_ += (count * sizeof(T) + 63) / 64 * 64;
  return found;
}

}  // namespace regard
