#include <algorithm>

#include "forward.h"
#include "pass.h"

namespace regard {
namespace {

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
void remember_sources(Workspace& space, const std::vector<Source>& sources, Pass& pass) {
  const Model& model = space.model;
  for (size_t layer = 0; layer < model.decoder.size(); ++layer) {
    size_t number = 0;
    int position = 0;
    pass.multiply_to(model.decoder[layer].cross.key_value, [&](int) {  // rows are the sources' tokens, in order
      if (position == sources[number].length) ++number, position = 0;
      return space.memory(int(layer), sources[number].slot) + size_t(position++) * model.memory_size;
    });
  }
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
    pass.multiply_to(layer.self.key_value,
                     [&](int row) { return space.encoder_memory + size_t(row) * model.memory_size; });
    rotate_sources(space, part, sources);
    attend_sources(space, part, sources, rows);
    pass.output(layer.self);
    pass.feed_forward(layer.feed_forward);
  }
  pass.enter(model.encoder_norm);
  remember_sources(space, sources, pass);
}

}  // namespace regard
