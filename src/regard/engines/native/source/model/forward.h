// The Transformer's two passes over rows of tokens: the encoder over whole sentences laid end to end, and one step of
// the decoder for as many hypotheses as there are, each at a position of its own. Nothing is padded.
#pragma once

#include <vector>

#include "team.h"
#include "workspace.h"

namespace regard {

// A sentence to encode, and the slot that its keys and values go to.
struct Source {
  const int32_t* ids;
  int length;
  int slot;
};

// A hypothesis to extend by one position.
struct DecoderRow {
  int32_t token;
  int position;
  const int32_t* offsets;  // of the keys and values of positions 0 to `position`, in every layer's cache
  int slot, source_length;
};

// Encode sentences and leave the keys and values of every decoder layer's cross-attention in their slots.
void encode(Workspace& space, const Part& part, const std::vector<Source>& sources);

// Compute one position of each row and leave its Selection in space.selections[row]; `selections` says what is wanted.
void decode(Workspace& space, const Part& part, const std::vector<DecoderRow>& rows);

// Compute the rows, positions of one given target in order, up to a layer's cross-attention. The mean of its heads goes
// to `weights`: source_length numbers a row.
void align(Workspace& space, const std::vector<DecoderRow>& rows, int layer, float* weights);

}  // namespace regard
