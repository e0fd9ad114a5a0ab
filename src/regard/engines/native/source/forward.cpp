#include "forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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
      scores_stride_(padded(positions) + kPanel) {
  if (layer_size_ > size_t(std::numeric_limits<int32_t>::max())) throw std::bad_alloc();  // offsets are 32 bits
  const int most = std::max(rows, tokens);
  const int widest = std::max(model.d_model, model.value_size);
  const size_t floats = size_t(most) * (2 * stride_of(model.d_model) + stride_of(model.query_size) +
                                        stride_of(model.value_size) + size_t(model.memory_size) + 1) +
                        size_t(kInnerRows) * (stride_of(model.d_ff) + 1) + threads * scores_stride_;
  const size_t integers_count = size_t(most) * widest + size_t(kInnerRows) * model.d_ff;
  buffers_ = Arena(checked_bytes(floats, sizeof(float)) + integers_count * model.kernels->activation_bytes + 16 * 64);
  x = carve<float>(most * stride_of(model.d_model));
  normed = carve<float>(most * stride_of(model.d_model));
  query = carve<float>(most * stride_of(model.query_size));
  attended = carve<float>(most * stride_of(model.value_size));
  encoder_memory = carve<float>(size_t(most) * model.memory_size);
  inner = carve<float>(kInnerRows * stride_of(model.d_ff));
  scale = carve<float>(most);
  inner_scale = carve<float>(kInnerRows);
  scores = carve<float>(threads * scores_stride_);
  integers = carve<char>(size_t(most) * widest * model.kernels->activation_bytes);
  inner_integers = carve<char>(size_t(kInnerRows) * model.d_ff * model.kernels->activation_bytes);
  const size_t layers = model.decoder.size();
  caches_ = Arena(checked_bytes(layer_size_, layers, sizeof(float)));
  memories_ = Arena(checked_bytes(layer_size_, layers, sizeof(float)));
  out.resize(most);
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

namespace {

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

  // Rows of queries into space.query.
  void queries(const Attention& attention) {
    multiply(attention.query, entered(), space_.query, stride_of(model_.query_size));
    part_.sync();
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

  // out[r] for each row, as columns are shared among threads.
  void multiply_to(const Weights& weights, const Rows& rows) {
    Product job{&weights.matrix, rows, space_.out.data(), 0, 0};
    run(job);
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
    if (model_.config.int8) {
      const Range mine = part_.share(count);
      for (int row = mine.first; row < mine.last; ++row)
        kernels_.quantise(space_.inner + row * stride_of(model_.d_ff), model_.d_ff,
                          integers_of(space_.inner_integers, row, model_.d_ff), space_.inner_scale + row);
      part_.sync();
    }
    const Rows hidden = rows_of(space_.inner, space_.inner_integers, space_.inner_scale, model_.d_ff, count);
    multiply(layer.outer, hidden, space_.x_row(first), stride_of(model_.d_model), Activation::kNone, true);
    part_.sync();
  }

  void multiply(const Weights& weights, const Rows& rows, float* to, size_t stride,
                Activation activation = Activation::kNone, bool accumulate = false) {
    if (part_.index == 0)
      for (int row = 0; row < rows.count; ++row) space_.out[row] = to + row * stride;
    part_.sync();
    Product job{&weights.matrix, rows, space_.out.data(), 0, 0, activation, accumulate};
    run(job);
  }

  void run(Product& job) {
    const Range mine = part_.share(job.matrix->columns / kPanel);
    job.first = mine.first;
    job.last = mine.last;
    (model_.config.int8 ? kernels_.product_int8 : kernels_.product_float)(job);
  }

  // Quantised copies of rows, where the model is quantised.
  void prepare(const float* rows, int size) {
    if (model_.config.int8) {
      const Range mine = part_.share(rows_);
      for (int row = mine.first; row < mine.last; ++row)
        kernels_.quantise(rows + row * stride_of(size), size, integers_of(space_.integers, row, size), space_.scale + row);
    }
    part_.sync();
  }

  void normalise(const Norm& norm, float* to) {
    const Range mine = part_.share(rows_);
    const int size = model_.d_model;
    for (int row = mine.first; row < mine.last; ++row)
      kernels_.norm(space_.x_row(row), model_.config.d_model, size, norm.gain.data(), norm.bias.data(),
                    to + row * stride_of(size),
                    model_.config.int8 ? integers_of(space_.integers, row, size) : nullptr, space_.scale + row);
    part_.sync();
  }

  void* integers_of(void* integers, int row, int size) const {
    return static_cast<char*>(integers) + size_t(row) * size * kernels_.activation_bytes;
  }

  size_t element_bytes() const { return model_.config.int8 ? kernels_.activation_bytes : sizeof(float); }

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

// Attention of an encoder layer: within each sentence.
void attend_sources(Workspace& space, const Part& part, const std::vector<Source>& sources, int rows) {
  const Model& model = space.model;
  const Range mine = part.share(rows);
  int first = 0;
  for (const Source& source : sources) {
    const float* memory = space.encoder_memory + size_t(first) * model.memory_size;
    for (int row = std::max(first, mine.first); row < std::min(first + source.length, mine.last); ++row)
      model.kernels->attend(space.query_row(row), memory, memory + model.query_size, space.regular.data(), source.length,
                            model.config.heads, model.d_k, model.d_v, model.config.attention_scale,
                            space.scores_of(part.index), space.attended_row(row), nullptr);
    first += source.length;
  }
  part.sync();
}

// Turn queries and keys by their positions, where the model has rotary ones.
void rotate_sources(Workspace& space, const Part& part, const std::vector<Source>& sources) {
  if (!space.model.config.rotary) return;
  int row = 0;
  for (const Source& source : sources)
    for (int position = 0; position < source.length; ++position, ++row)
      if (row % part.size == part.index) {
        space.model.rotate(space.query_row(row), position);
        space.model.rotate(space.encoder_memory + size_t(row) * space.model.memory_size, position);
      }
  part.sync();
}

void embed_sources(Workspace& space, const Part& part, const std::vector<Source>& sources) {
  const Model& model = space.model;
  int row = 0;
  for (const Source& source : sources)
    for (int position = 0; position < source.length; ++position, ++row)
      if (row % part.size == part.index)
        model.embed(model.source_table(), model.source_positions, source.ids[position], position,
                    space.x_row(row));
  part.sync();
}

// Cross-attention's keys and values go straight to the slots of their sentences.
void remember_sources(Workspace& space, const Part& part, const std::vector<Source>& sources, Pass& pass) {
  const Model& model = space.model;
  for (size_t layer = 0; layer < model.decoder.size(); ++layer) {
    if (part.index == 0) {
      int row = 0;
      for (const Source& source : sources)
        for (int position = 0; position < source.length; ++position, ++row)
          space.out[row] = space.memory(int(layer), source.slot) + size_t(position) * model.memory_size;
    }
    part.sync();
    pass.multiply_to(model.decoder[layer].cross.key_value, pass.entered());
    part.sync();
  }
}

void point_to_encoder_memory(Workspace& space, const Part& part, int rows) {
  if (part.index == 0)
    for (int row = 0; row < rows; ++row)
      space.out[row] = space.encoder_memory + size_t(row) * space.model.memory_size;
  part.sync();
}

// A row's attention to its own positions (memory: a layer's cache) or to its source's (the memory of its slot). Shared
// by rows and heads, so that threads have a part of a single row, too.
template <class Memory>
void attend_rows(Workspace& space, const Part& part, int rows, const Memory& memory, float* alignment = nullptr) {
  const Model& model = space.model;
  const int heads = model.config.heads;
  const Range mine = part.share(rows * heads);
  for (int at = mine.first; at < mine.last;) {
    const int row = at / heads, head = at % heads, count = std::min(heads - head, mine.last - at);
    const auto [start, offsets, positions] = memory(row);
    model.kernels->attend(space.query_row(row) + head * model.d_k, start + head * model.d_k,
                          start + model.query_size + head * model.d_v, offsets, positions, count, model.d_k, model.d_v,
                          model.config.attention_scale, space.scores_of(part.index),
                          space.attended_row(row) + head * model.d_v,
                          row == 0 ? alignment : nullptr);
    at += count;
  }
  part.sync();
}

struct Positions {
  const float* start;
  const int32_t* offsets;
  int count;
};

// Keys and values of the rows' own positions, into a layer's cache.
void remember_rows(Workspace& space, const Part& part, const std::vector<DecoderRow>& rows, int layer, Pass& pass) {
  const Model& model = space.model;
  if (part.index == 0)
    for (size_t row = 0; row < rows.size(); ++row)
      space.out[row] = space.cache(layer) + rows[row].offsets[rows[row].position];
  part.sync();
  pass.multiply_to(model.decoder[layer].self.key_value, pass.entered());
  part.sync();
  if (!model.config.rotary) return;
  if (part.index == 0)
    for (size_t row = 0; row < rows.size(); ++row) {
      model.rotate(space.query_row(int(row)), rows[row].position);
      model.rotate(space.cache(layer) + rows[row].offsets[rows[row].position], rows[row].position);
    }
  part.sync();
}

// Add what another thread kept of later columns; `forced`: whether the forced token is one of them.
void join(Selection& all, const Selection& later, bool forced) {
  if (forced) all.forced_logit = later.forced_logit;
  for (int kept = 0; kept < later.kept; ++kept) {
    if (all.kept == all.wanted && !(later.logit[kept] > all.logit[all.wanted - 1])) continue;
    int place = all.kept < all.wanted ? all.kept++ : all.wanted - 1;
    for (; place > 0 && later.logit[kept] > all.logit[place - 1]; --place) {
      all.logit[place] = all.logit[place - 1];
      all.token[place] = all.token[place - 1];
    }
    all.logit[place] = later.logit[kept];
    all.token[place] = later.token[kept];
  }
}

// Each thread its chunks of the vocabulary; then the first joins what they kept.
void project(Workspace& space, const Part& part, const Rows& rows) {
  const Model& model = space.model;
  const Matrix& matrix = model.projection();
  const size_t stride = space.rows();
  if (part.index > 0) std::copy_n(space.selections.data(), rows.count, space.selections.data() + part.index * stride);
  part.sync();
  Product job{&matrix, rows, nullptr, 0, 0};
  const Range mine = part.share(space.chunks);
  job.first = mine.first * kChunk;
  job.last = std::min(mine.last * kChunk, matrix.columns / kPanel);
  (model.config.int8 ? model.kernels->select_int8 : model.kernels->select_float)(
      job, space.selections.data() + part.index * stride, space.sums.data(), space.chunks);
  part.sync();
  if (part.index == 0)
    for (int other = 1; other < part.size; ++other)
      for (int row = 0; row < rows.count; ++row)
        join(space.selections[row], space.selections[other * stride + row],
             space.selections[row].forced >= part.share_of(other, space.chunks).first * kChunk * kPanel);
  part.sync();
}

}  // namespace

void encode(Workspace& space, const Part& part, const std::vector<Source>& sources) {
  const Model& model = space.model;
  int rows = 0;
  for (const Source& source : sources) rows += source.length;
  Pass pass(space, part, rows);
  embed_sources(space, part, sources);
  pass.begin();
  for (const EncoderLayer& layer : model.encoder) {
    pass.enter(layer.self.norm);
    pass.queries(layer.self);
    point_to_encoder_memory(space, part, rows);
    pass.multiply_to(layer.self.key_value, pass.entered());
    part.sync();
    rotate_sources(space, part, sources);
    attend_sources(space, part, sources, rows);
    pass.output(layer.self);
    pass.feed_forward(layer.feed_forward);
  }
  pass.enter(model.encoder_norm);
  remember_sources(space, part, sources, pass);
}

void decode(Workspace& space, const Part& part, const std::vector<DecoderRow>& rows, float* alignment,
            int alignment_layer) {
  const Model& model = space.model;
  const int count = int(rows.size());
  Pass pass(space, part, count);
  const Range mine = part.share(count);
  for (int row = mine.first; row < mine.last; ++row)
    model.embed(model.target_embedding.matrix, model.target_positions, rows[row].token, rows[row].position,
                space.x_row(row));
  part.sync();
  pass.begin();
  for (int number = 0; number < int(model.decoder.size()); ++number) {
    const DecoderLayer& layer = model.decoder[number];
    pass.enter(layer.self.norm);
    pass.queries(layer.self);
    remember_rows(space, part, rows, number, pass);
    attend_rows(space, part, count, [&](int row) {
      return Positions{space.cache(number), rows[row].offsets, rows[row].position + 1};
    });
    pass.output(layer.self);
    pass.enter(layer.cross.norm);
    pass.queries(layer.cross);
    attend_rows(
        space, part, count,
        [&](int row) {
          return Positions{space.memory(number, rows[row].slot), space.regular.data(), rows[row].source_length};
        },
        number == alignment_layer ? alignment : nullptr);
    pass.output(layer.cross);
    pass.feed_forward(layer.feed_forward);
  }
  pass.enter(model.decoder_norm);
  project(space, part, pass.entered());
}

}  // namespace regard
