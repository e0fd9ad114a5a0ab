// A model's weights, checked, quantised if asked for, and packed for the kernels of this processor.
#pragma once

#include <memory>
#include <vector>

#include "arena.h"
#include "kernels/kernels.h"

extern "C" {

// What Python says of a model. Every field is checked before anything is allocated.
struct RegardConfig {
  int32_t source_vocabulary, vocabulary;
  int32_t encoder_layers, decoder_layers;
  int32_t d_model, d_ff, heads, d_k, d_v;
  int32_t positions;       // rows of the position tables: no source or output is longer
  int32_t bounded;         // the model itself has no more, so an output that comes there is complete
  int32_t additive;        // whether positions are added to embeddings
  int32_t rotary;          // whether they turn queries and keys
  int32_t pre_norm;
  int32_t activation;      // Activation
  int32_t share_embeddings, tie_projection;
  int32_t int8;
  float attention_scale;   // 1 / sqrt(d_k)
};

// A float32 matrix by rows; a vector has one row.
struct RegardTensor {
  const float* data;
  int64_t rows, columns;
};
}

namespace regard {

// A packed matrix and what it owns.
struct Weights {
  Matrix matrix;
  Arena memory;
};

struct Norm {
  std::vector<float> gain, bias;  // padded with zeros
};

struct Attention {
  Weights query, key_value, output;  // of self-attention; in cross-attention key_value is for the encoder's output
  Norm norm;
};

struct FeedForward {
  Weights inner, outer;
  Norm norm;
};

struct EncoderLayer {
  Attention self;
  FeedForward feed_forward;
};

struct DecoderLayer {
  Attention self, cross;
  FeedForward feed_forward;
};

// Sizes are padded to multiples of 16: `d_k` and `d_v` of a head, too, so that no kernel has a remainder to care for.
struct Model {
  RegardConfig config;
  const Kernels* kernels;
  int d_model, d_ff, d_k, d_v;  // padded
  int query_size, value_size, memory_size;  // of all heads: queries, values, and keys with values
  Weights source_embedding, target_embedding, untied;
  std::vector<float> source_positions, target_positions, angles;
  std::vector<EncoderLayer> encoder;
  std::vector<DecoderLayer> decoder;
  Norm encoder_norm, decoder_norm;  // with pre-norm

  const Matrix& source_table() const { return (config.share_embeddings ? target_embedding : source_embedding).matrix; }
  const Matrix& projection() const { return (config.tie_projection ? target_embedding : untied).matrix; }

  // A token's embedding times sqrt(d_model), plus its position, into a padded row.
  void embed(const Matrix& table, const std::vector<float>& positions, int token, int position, float* row) const;
  // Turn the heads of a query or key by their position (rotary positions).
  void rotate(float* heads, int position) const;
};

// A plain matrix by rows, packed as a model's are: for integers, or for floats if these are null.
Weights pack(const IntegerKernels* integers, const float* weight, const float* bias, int columns, int depth);

// Tensors come in the order of pack.py. Throws std::invalid_argument, which says what is wrong with them.
std::unique_ptr<Model> make_model(const RegardConfig& config, const RegardTensor* tensors, int64_t count,
                                  const Kernels* kernels);

}  // namespace regard
