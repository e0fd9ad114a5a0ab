#include "model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

namespace regard {
namespace {

// The tensors in their order; each is taken once, with the shape that the config asks for.
class Tensors {
 public:
  Tensors(const RegardTensor* tensors, int64_t count) : tensors_(tensors), count_(count) {}

  const float* take(int64_t rows, int64_t columns) {
    if (next_ >= count_) throw std::invalid_argument("there are too few tensors");
    const RegardTensor& tensor = tensors_[next_++];
    if (tensor.data == nullptr || tensor.rows != rows || tensor.columns != columns)
      throw std::invalid_argument("tensor " + std::to_string(next_ - 1) + " is " + std::to_string(tensor.rows) + " x " +
                                  std::to_string(tensor.columns) + " where " + std::to_string(rows) + " x " +
                                  std::to_string(columns) + " is expected");
    return tensor.data;
  }

  void check_all_taken() const {
    if (next_ != count_) throw std::invalid_argument("there are more tensors than the model has");
  }

 private:
  const RegardTensor* tensors_;
  int64_t count_, next_ = 0;
};

// Where a padded column or input comes from: heads of `size` numbers, padded to `padded_size` each. No heads: a plain
// vector.
struct Layout {
  int parts, size, padded_size;
  int length() const { return parts * padded_size; }
  int origin(int place) const {  // -1 for padding
    const int within = place % padded_size;
    return within < size ? place / padded_size * size + within : -1;
  }
};

// Some rows of a weight matrix: output columns of the packed one.
struct Block {
  const float* weight;
  const float* bias;  // null for none
  Layout columns;
};

float largest_magnitude(const float* row, int size) {
  float largest = 0;
  for (int k = 0; k < size; ++k) largest = std::max(largest, std::fabs(row[k]));
  return largest;
}

// Packs the blocks' columns side by side. int8 as CTranslate2 has it: a column's largest weight becomes 127.
class Packer {
 public:
  // integers: what multiplies the matrices; null for float32.
  explicit Packer(const IntegerKernels* integers) : integers_(integers), int8_(integers != nullptr) {}

  Weights pack(const std::vector<Block>& blocks, Layout inputs) const {
    int columns = 0;
    for (const Block& block : blocks) columns += block.columns.length();
    columns = padded(columns);
    const int depth = padded(inputs.length());
    Weights weights;
    const size_t size = checked_bytes(columns, depth, int8_ ? 1 : sizeof(float));
    weights.memory = Arena(size + 3 * sizeof(float) * columns);
    char* memory = weights.memory.as<char>();
    float* scale = reinterpret_cast<float*>(memory + size);
    float* bias = scale + columns;
    int32_t* start = reinterpret_cast<int32_t*>(bias + columns);
    int column = 0;
    for (const Block& block : blocks)
      for (int place = 0; place < block.columns.length(); ++place, ++column) {
        const int origin = block.columns.origin(place);
        if (origin < 0) continue;
        const int real = inputs.parts * inputs.size;
        const float* row = block.weight + size_t(origin) * real;
        bias[column] = block.bias == nullptr ? 0 : block.bias[origin];
        if (int8_)
          pack_int8(row, real, inputs, depth, column, reinterpret_cast<int8_t*>(memory), scale, start);
        else
          pack_float(row, inputs, depth, column, reinterpret_cast<float*>(memory));
      }
    for (; column < columns; ++column) bias[column] = kNever;
    weights.matrix = {columns, depth, integers_, nullptr, nullptr, scale, bias, start};
    if (int8_)
      weights.matrix.int8 = reinterpret_cast<int8_t*>(memory);
    else
      weights.matrix.float32 = reinterpret_cast<float*>(memory);
    return weights;
  }

 private:
  void pack_int8(const float* row, int real, Layout inputs, int depth, int column, int8_t* panels, float* scale,
                 int32_t* start) const {
    const float largest = largest_magnitude(row, real);
    const float by = largest > 0 ? 127.0f / largest : 1.0f;
    const int group = integers_->group;
    int8_t* panel = panels + size_t(column / kPanel) * kPanel * depth;
    int32_t total = 0;
    for (int k = 0; k < inputs.length(); ++k) {
      const int origin = inputs.origin(k);
      if (origin < 0) continue;
      const int8_t integer = int8_t(std::nearbyint(row[origin] * by));
      panel[(k / group * kPanel + column % kPanel) * group + k % group] = integer;
      total += integer;
    }
    scale[column] = 1.0f / by;
    start[column] = -integers_->offset * total;
  }

  void pack_float(const float* row, Layout inputs, int depth, int column, float* panels) const {
    float* panel = panels + size_t(column / kPanel) * kPanel * depth;
    for (int k = 0; k < inputs.length(); ++k) {
      const int origin = inputs.origin(k);
      if (origin >= 0) panel[size_t(k) * kPanel + column % kPanel] = row[origin];
    }
  }

  const IntegerKernels* integers_;
  bool int8_;
};

class Builder {
 public:
  Builder(Model& model, Tensors tensors)
      : model_(model), config_(model.config), tensors_(tensors),
        packer_(config_.int8 ? &model.kernels->integers : nullptr),
        inner_packer_(!config_.int8                                                   ? nullptr
                      : Activation(config_.activation) == Activation::kRelu ? &model.kernels->positive
                                                                            : &model.kernels->integers) {}

  void build() {
    model_.target_embedding = table(config_.vocabulary);
    if (!config_.share_embeddings) model_.source_embedding = table(config_.source_vocabulary);
    if (!config_.tie_projection) model_.untied = table(config_.vocabulary);
    if (config_.additive) {
      model_.source_positions = vector(config_.positions, config_.d_model);
      model_.target_positions = vector(config_.positions, config_.d_model);
    }
    if (config_.rotary) model_.angles = vector(config_.positions, config_.d_k);
    for (int layer = 0; layer < config_.encoder_layers; ++layer)
      model_.encoder.push_back({attention(), feed_forward()});
    if (config_.pre_norm) model_.encoder_norm = norm();
    for (int layer = 0; layer < config_.decoder_layers; ++layer) {
      Attention self = attention(), cross = attention();
      model_.decoder.push_back({std::move(self), std::move(cross), feed_forward()});
    }
    if (config_.pre_norm) model_.decoder_norm = norm();
    tensors_.check_all_taken();
  }

 private:
  Layout plain(int size) const { return {1, size, padded(size)}; }
  Layout keys() const { return {config_.heads, config_.d_k, model_.d_k}; }
  Layout values() const { return {config_.heads, config_.d_v, model_.d_v}; }

  Weights table(int vocabulary) {
    const Block block{tensors_.take(vocabulary, config_.d_model), nullptr, {1, vocabulary, vocabulary}};
    return packer_.pack({block}, plain(config_.d_model));
  }

  Block block(Layout columns, int depth) {
    const int real = columns.parts * columns.size;
    const float* weight = tensors_.take(real, depth);
    return {weight, tensors_.take(1, real), columns};
  }

  std::vector<float> vector(int rows, int columns) {
    const float* data = tensors_.take(rows, columns);
    return std::vector<float>(data, data + size_t(rows) * columns);
  }

  Norm norm() {
    Norm norm{vector(1, config_.d_model), vector(1, config_.d_model)};
    norm.gain.resize(model_.d_model);
    norm.bias.resize(model_.d_model);
    return norm;
  }

  Attention attention() {
    const Block query = block(keys(), config_.d_model), key = block(keys(), config_.d_model);
    const Block value = block(values(), config_.d_model);
    const Block output = block(plain(config_.d_model), config_.heads * config_.d_v);
    Attention made;
    made.query = packer_.pack({query}, plain(config_.d_model));
    made.key_value = packer_.pack({key, value}, plain(config_.d_model));
    made.output = packer_.pack({output}, values());
    made.norm = norm();
    return made;
  }

  FeedForward feed_forward() {
    const Block inner = block(plain(config_.d_ff), config_.d_model);
    const Block outer = block(plain(config_.d_model), config_.d_ff);
    FeedForward made;
    made.inner = packer_.pack({inner}, plain(config_.d_model));
    made.outer = inner_packer_.pack({outer}, plain(config_.d_ff));
    made.norm = norm();
    return made;
  }

  Model& model_;
  const RegardConfig& config_;
  Tensors tensors_;
  Packer packer_, inner_packer_;
};

void check(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

void check_config(const RegardConfig& c) {
  const auto within = [](int32_t value, int32_t most) { return value >= 1 && value <= most; };
  check(within(c.vocabulary, 1 << 24) && c.vocabulary >= 4, "the vocabulary's size is out of range");
  check(within(c.source_vocabulary, 1 << 24), "the source vocabulary's size is out of range");
  check(within(c.encoder_layers, 256) && within(c.decoder_layers, 256), "the number of layers is out of range");
  check(within(c.d_model, 16384) && within(c.d_ff, 1 << 20), "d_model or d_ff is out of range");
  check(within(c.heads, 1024) && within(c.d_k, 16384) && within(c.d_v, 16384), "heads, d_k or d_v is out of range");
  check(int64_t(c.heads) * padded(c.d_k) <= 1 << 20 && int64_t(c.heads) * padded(c.d_v) <= 1 << 20,
        "the heads together are out of range");
  check(within(c.positions, 1 << 20), "the number of positions is out of range");
  check(!c.rotary || c.d_k % 2 == 0, "rotary positions need an even d_k");
  check(c.activation >= 1 && c.activation <= 3, "the activation is unknown");
  check(!c.share_embeddings || c.source_vocabulary == c.vocabulary, "a shared embedding has one vocabulary");
  check(std::isfinite(c.attention_scale), "the scale of attention is not a number");
}

}  // namespace

namespace {

// Unpack a row of an int8 table: groups of G inputs, a panel's width apart.
template <int G>
void unpack(const int8_t* group, int depth, float scale, float by, float* row) {
  for (int k = 0; k < depth; k += G, group += kPanel * G)
    for (int i = 0; i < G; ++i) row[k + i] = group[i] * scale * by;
}

}  // namespace

void Model::embed(const Matrix& table, const std::vector<float>& positions, int token, int position,
                  float* row) const {
  const float by = std::sqrt(float(config.d_model));
  const size_t panel = size_t(token / kPanel) * kPanel * table.depth;
  const int lane = token % kPanel;
  if (table.int8 != nullptr) {
    const int group = table.integers->group;
    (group == 4 ? unpack<4> : unpack<2>)(table.int8 + panel + lane * group, d_model, table.scale[token], by, row);
  } else {
    for (int k = 0; k < d_model; ++k) row[k] = table.float32[panel + size_t(k) * kPanel + lane] * by;
  }
  if (positions.empty()) return;
  const float* at = positions.data() + size_t(position) * config.d_model;
  for (int k = 0; k < config.d_model; ++k) row[k] += at[k];
}

void Model::rotate(float* heads, int position) const {
  const float* angle = angles.data() + size_t(position) * config.d_k;
  for (int head = 0; head < config.heads; ++head, heads += d_k)
    for (int k = 0; k < config.d_k; k += 2) {
      const float even = heads[k], odd = heads[k + 1], sine = angle[k], cosine = angle[k + 1];
      heads[k] = even * cosine - odd * sine;
      heads[k + 1] = even * sine + odd * cosine;
    }
}

Weights pack(const IntegerKernels* integers, const float* weight, const float* bias, int columns, int depth) {
  const Block block{weight, bias, {1, columns, padded(columns)}};
  return Packer(integers).pack({block}, {1, depth, padded(depth)});
}

std::unique_ptr<Model> make_model(const RegardConfig& config, const RegardTensor* tensors, int64_t count,
                                  const Kernels* kernels) {
  check_config(config);
  auto model = std::make_unique<Model>();
  model->config = config;
  model->kernels = kernels;
  model->d_model = padded(config.d_model);
  model->d_ff = padded(config.d_ff);
  model->d_k = padded(config.d_k);
  model->d_v = padded(config.d_v);
  model->query_size = config.heads * model->d_k;
  model->value_size = config.heads * model->d_v;
  model->memory_size = model->query_size + model->value_size;
  Builder(*model, Tensors(tensors, count)).build();
  return model;
}

}  // namespace regard
