// The parts of a layer, which the encoder and the decoder have in common.
#pragma once

#include <algorithm>

#include "team.h"
#include "workspace.h"

namespace regard {

// The parts of a layer over some rows of x. Every function begins with what all threads have agreed on, and ends so.
class Pass {
 public:
  Pass(Workspace& space, const Part& part, int rows)
      : space_(space), model_(space.model), kernels_(*model_.kernels), part_(part), rows_(rows) {}

  // After x has been written: with post-norm, x itself is what the first matrix reads.
  void begin() {
    if (!model_.config.pre_norm) prepare(space_.x, model_.d_model);
  }

  // What a sub-layer reads: with pre-norm the normed x, with post-norm x, which `leave` has prepared.
  void enter(const Norm& norm) {
    if (model_.config.pre_norm) normalise(norm, space_.normed);
  }

  void leave(const Norm& norm) {
    if (!model_.config.pre_norm) normalise(norm, space_.x);
  }

  Rows entered() const {
    return rows_of(model_.config.pre_norm ? space_.normed : space_.x, space_.integers, space_.scale, model_.d_model,
                   rows_);
  }

  // Rows of queries into space.query, for the threads to agree on afterwards.
  void queries(const Attention& attention) {
    multiply(attention.query, entered(), space_.query, stride_of(model_.query_size));
  }

  // x += attended · W^O.
  void output(const Attention& attention) {
    prepare(space_.attended, model_.value_size);
    const Rows rows = rows_of(space_.attended, space_.integers, space_.scale, model_.value_size, rows_);
    multiply(attention.output, rows, space_.x, stride_of(model_.d_model), Activation::kNone, true);
    part_.sync();
    leave(attention.norm);
  }

  void feed_forward(const FeedForward& layer) {
    enter(layer.norm);
    for (int first = 0; first < rows_; first += kInnerRows) inner_rows(layer, first);
    leave(layer.norm);
  }

  // Multiply what was entered; row r of the result goes to place(r). Threads share the columns.
  template <class Place>
  void multiply_to(const Weights& weights, const Place& place) {
    float** outputs = space_.outputs_of(part_.index);
    for (int row = 0; row < rows_; ++row) outputs[row] = place(row);
    Product job{&weights.matrix, entered(), outputs, 0, 0};
    run(job);
    part_.sync();
  }

 private:
  void inner_rows(const FeedForward& layer, int first) {
    const int count = std::min(kInnerRows, rows_ - first);
    Rows rows = entered();
    rows.count = count;
    rows.data = static_cast<const char*>(rows.data) + first * rows.stride * element_bytes();
    if (rows.scale != nullptr) rows.scale += first;
    multiply(layer.inner, rows, space_.inner, stride_of(model_.d_ff), Activation(model_.config.activation));
    part_.sync();
    if (const IntegerKernels* integers = layer.outer.matrix.integers) {
      const Range mine = part_.share(count);
      for (int row = mine.first; row < mine.last; ++row)
        integers->quantise(space_.inner + row * stride_of(model_.d_ff), model_.d_ff,
                           static_cast<char*>(space_.inner_integers) + size_t(row) * model_.d_ff * integers->bytes,
                           space_.inner_scale + row);
      part_.sync();
    }
    const Rows hidden = rows_of(space_.inner, space_.inner_integers, space_.inner_scale, model_.d_ff, count);
    multiply(layer.outer, hidden, space_.x_row(first), stride_of(model_.d_model), Activation::kNone, true);
    part_.sync();
  }

  void multiply(const Weights& weights, const Rows& rows, float* to, size_t stride,
                Activation activation = Activation::kNone, bool accumulate = false) {
    float** outputs = space_.outputs_of(part_.index);
    for (int row = 0; row < rows.count; ++row) outputs[row] = to + row * stride;
    Product job{&weights.matrix, rows, outputs, 0, 0, activation, accumulate};
    run(job);
  }

  void run(Product& job) {
    const Range mine = part_.share(job.matrix->columns / kPanel);
    job.first = mine.first;
    job.last = mine.last;
    (job.matrix->integers != nullptr ? job.matrix->integers->product : kernels_.product_float)(job);
  }

  // Quantised copies of rows, where the model is quantised.
  void prepare(const float* rows, int size) {
    if (model_.config.int8) {
      const Range mine = part_.share(rows_);
      for (int row = mine.first; row < mine.last; ++row)
        kernels_.integers.quantise(rows + row * stride_of(size), size, integers_of(row, size), space_.scale + row);
    }
    part_.sync();
  }

  void normalise(const Norm& norm, float* to) {
    const Range mine = part_.share(rows_);
    const int size = model_.d_model;
    for (int row = mine.first; row < mine.last; ++row)
      kernels_.norm(space_.x_row(row), model_.config.d_model, size, norm.gain.data(), norm.bias.data(),
                    to + row * stride_of(size),
                    model_.config.int8 ? integers_of(row, size) : nullptr, space_.scale + row);
    part_.sync();
  }

  void* integers_of(int row, int size) const {
    return static_cast<char*>(space_.integers) + size_t(row) * size * kernels_.integers.bytes;
  }

  size_t element_bytes() const { return model_.config.int8 ? kernels_.integers.bytes : sizeof(float); }

  Rows rows_of(const float* floats, const void* integers, const float* scale, int size, int count) const {
    if (model_.config.int8) return {integers, size_t(size), scale, count};
    return {floats, stride_of(size), nullptr, count};
  }

  Workspace& space_;
  const Model& model_;
  const Kernels& kernels_;
  const Part& part_;
  const int rows_;
};

}  // namespace regard
