#include <algorithm>

#include "forward.h"
#include "pass.h"

namespace regard {
namespace {

struct Positions {
  const float* start;
  const int32_t* offsets;
  int count;
};

// Ask for keys and values ahead of time: they come from the last cache, which is far.
void prefetch(const Positions& positions, int floats) {
  constexpr int kLine = 64 / sizeof(float);
  for (int s = 0; s < positions.count; ++s)
    for (int k = 0; k < floats; k += kLine) __builtin_prefetch(positions.start + positions.offsets[s] + k, 0, 2);
}

// A row's attention to its own positions (memory: a layer's cache) or to its source's (the memory of its slot). Shared
// by rows and heads, so that threads have a part of a single row, too. `alignment`, if not null, receives the mean of
// the heads' weights, row by row; only one thread may ask for it.
template <class Memory>
void attend_rows(Workspace& space, const Part& part, int rows, const Memory& memory, float* alignment = nullptr) {
  const Model& model = space.model;
  const int heads = model.config.heads;
  const Range mine = part.share(rows * heads);
  for (int at = mine.first; at < mine.last;) {
    const int row = at / heads, head = at % heads, count = std::min(heads - head, mine.last - at);
    const auto [start, offsets, positions] = memory(row);
    if (row + 1 < rows) prefetch(memory(row + 1), model.memory_size);
    model.kernels->attend(space.query_row(row) + head * model.d_k, start + head * model.d_k,
                          start + model.query_size + head * model.d_v, offsets, positions, count, model.d_k, model.d_v,
                          model.config.attention_scale, space.scores_of(part.index),
                          space.attended_row(row) + head * model.d_v,
                          alignment);
    if (alignment != nullptr) alignment += positions;
    at += count;
  }
  part.sync();
}

// Keys and values of the rows' own positions, into a layer's cache.
void remember_rows(Workspace& space, const Part& part, const std::vector<DecoderRow>& rows, int layer, Pass& pass) {
  const Model& model = space.model;
  pass.multiply_to(model.decoder[layer].self.key_value,
                   [&](int row) { return space.cache(layer) + rows[row].offsets[rows[row].position]; });
  if (!model.config.rotary) return;
  if (part.index == 0)
    for (size_t row = 0; row < rows.size(); ++row) {
      model.rotate(space.query_row(int(row)), rows[row].position);
      model.rotate(space.cache(layer) + rows[row].offsets[rows[row].position], rows[row].position);
    }
  part.sync();
}

// Add what another thread kept of later columns.
void join(Selection& all, const Selection& later) {
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
        join(space.selections[row], space.selections[other * stride + row]);
  part.sync();
}

void embed_rows(Workspace& space, const Part& part, const std::vector<DecoderRow>& rows) {
  const Model& model = space.model;
  const Range mine = part.share(int(rows.size()));
  for (int row = mine.first; row < mine.last; ++row)
    model.embed(model.target_embedding.matrix, model.target_positions, rows[row].token, rows[row].position,
                space.x_row(row));
  part.sync();
}

// A layer up to and including its cross-attention, whose weights go to `alignment` if it is not null.
void attend_layer(Workspace& space, const Part& part, const std::vector<DecoderRow>& rows, int number, Pass& pass,
                  float* alignment = nullptr) {
  const DecoderLayer& layer = space.model.decoder[number];
  const int count = int(rows.size());
  pass.enter(layer.self.norm);
  pass.queries(layer.self);
  remember_rows(space, part, rows, number, pass);
  attend_rows(space, part, count, [&](int row) {
    return Positions{space.cache(number), rows[row].offsets, rows[row].position + 1};
  });
  pass.output(layer.self);
  pass.enter(layer.cross.norm);
  pass.queries(layer.cross);
  part.sync();
  attend_rows(
      space, part, count,
      [&](int row) {
        return Positions{space.memory(number, rows[row].slot), space.regular.data(), rows[row].source_length};
      },
      alignment);
}

void finish_layer(const DecoderLayer& layer, Pass& pass) {
  pass.output(layer.cross);
  pass.feed_forward(layer.feed_forward);
}

}  // namespace

void decode(Workspace& space, const Part& part, const std::vector<DecoderRow>& rows) {
  const Model& model = space.model;
  Pass pass(space, part, int(rows.size()));
  embed_rows(space, part, rows);
  pass.begin();
  for (size_t number = 0; number < model.decoder.size(); ++number) {
    attend_layer(space, part, rows, int(number), pass);
    finish_layer(model.decoder[number], pass);
  }
  pass.enter(model.decoder_norm);
  project(space, part, pass.entered());
}

void align(Workspace& space, const std::vector<DecoderRow>& rows, int layer, float* weights) {
  const Part alone;
  Pass pass(space, alone, int(rows.size()));
  embed_rows(space, alone, rows);
  pass.begin();
  for (int number = 0; number < layer; ++number) {
    attend_layer(space, alone, rows, number, pass);
    finish_layer(space.model.decoder[number], pass);
  }
  attend_layer(space, alone, rows, layer, pass, weights);
}

}  // namespace regard
