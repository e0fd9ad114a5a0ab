// The memory that a pass over rows of tokens works in.
#pragma once

#include <vector>

#include "model.h"

namespace regard {

// Floats from one row of a buffer to the next: rows a power of two apart would compete for the same lines of a cache.
constexpr size_t stride_of(int size) { return size_t(size) + kPanel; }

constexpr int kInnerRows = 48;  // of the feed-forward network at a time: what lies between its matrices stays in cache

// The memory of a worker: reserved once, for a number of rows, slots and positions.
class Workspace {
 public:
  Workspace(const Model& model, int rows, int tokens, int positions, int threads);

  int rows() const { return rows_; }
  int tokens() const { return tokens_; }
  int positions() const { return positions_; }
  int32_t cache_offset(int row, int position) const { return (row * positions_ + position) * memory_size_; }
  float* cache(int layer) const { return caches_.as<float>() + layer * layer_size_; }
  float* memory(int layer, int slot) const {
    return memories_.as<float>() + layer * layer_size_ + size_t(slot) * positions_ * memory_size_;
  }

  const Model& model;
  float *x, *normed, *query, *attended, *inner;       // rows of floats
  float* encoder_memory;                              // keys and values of the encoder's self-attention
  void *integers, *inner_integers;                    // rows of quantised activations
  float *scale, *inner_scale;
  float* scores;                                      // for each thread
  std::vector<int32_t> regular;                       // offsets of positions that stand one after another
  std::vector<Selection> selections;                  // by thread and row
  std::vector<PartialSum> sums;                       // by row and chunk
  int chunks;

  float* x_row(int row) const { return x + row * stride_of(model.d_model); }
  float* query_row(int row) const { return query + row * stride_of(model.query_size); }
  float* attended_row(int row) const { return attended + row * stride_of(model.value_size); }
  // Where the rows of a thread's product go; each thread has its own, so that none waits for another to write them.
  float** outputs_of(int thread) { return outputs_.data() + size_t(thread) * std::max(rows_, tokens_); }
  float* scores_of(int thread) const { return scores + size_t(thread) * scores_stride_; }

 private:
  template <class T>
  T* carve(size_t count);

  int rows_, tokens_, positions_, memory_size_;
  std::vector<float*> outputs_;
  size_t layer_size_, scores_stride_, used_ = 0;
  Arena buffers_, caches_, memories_;
};

}  // namespace regard
