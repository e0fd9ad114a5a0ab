// Int8 products in blocks, with AMX: a tile register holds 16 rows of 64 bytes, and one instruction multiplies 16 rows of
// 64 inputs by 64 inputs of 16 columns.
//
// The packed weights of AVX-512 VNNI are what it reads: 16 groups of 4 inputs of a panel are a tile.
#pragma once

#include <cstring>

namespace regard {
namespace REGARD_ISA {

constexpr int kBlockRows = 16, kBlockDepth = 64;
constexpr int kSums = 0, kRows = 4, kWeights = 6;  // the first tile register of each kind: 2 × 2 sums, 2, and 2

#ifdef REGARD_SIMDE  // the tests' build on a processor without AMX: the same on arrays

struct TileRegisters {
  unsigned char bytes[8][16 * 64];
  int rows;
};

inline thread_local TileRegisters tiles;

inline void tile_setup(int rows) { tiles.rows = rows; }
inline void tile_release() {}

template <int T>
inline void tile_zero() {
  std::memset(tiles.bytes[T], 0, sizeof tiles.bytes[T]);
}

template <int T>
inline void tile_load(const void* from, size_t stride) {
  const int rows = T < kWeights ? tiles.rows : 16;
  for (int r = 0; r < rows; ++r) std::memcpy(tiles.bytes[T] + 64 * r, static_cast<const char*>(from) + r * stride, 64);
}

template <int T>
inline void tile_store(void* to, size_t stride) {
  for (int r = 0; r < tiles.rows; ++r) std::memcpy(static_cast<char*>(to) + r * stride, tiles.bytes[T] + 64 * r, 64);
}

template <int To, int Rows, int Weights>
inline void tile_multiply() {
  for (int r = 0; r < tiles.rows; ++r)
    for (int column = 0; column < 16; ++column) {
      int32_t sum;
      std::memcpy(&sum, tiles.bytes[To] + 64 * r + 4 * column, sizeof sum);
      for (int k = 0; k < 64; ++k)
        sum += int(tiles.bytes[Rows][64 * r + k]) *
               int(static_cast<signed char>(tiles.bytes[Weights][64 * (k / 4) + 4 * column + k % 4]));
      std::memcpy(tiles.bytes[To] + 64 * r + 4 * column, &sum, sizeof sum);
    }
}

#else

// Give the registers of sums and rows so many rows, and those of weights all 16.
inline void tile_setup(int rows) {
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t bytes[16] = {};
    uint8_t rows[16] = {};
  } config;
  for (int tile = 0; tile < 8; ++tile) {
    config.bytes[tile] = 64;
    config.rows[tile] = uint8_t(tile < kWeights ? rows : 16);
  }
  asm volatile("ldtilecfg %0" ::"m"(config));
}

inline void tile_release() { asm volatile("tilerelease"); }

// The compiler's intrinsics are macros for literal numbers of registers, and need a flag that older compilers lack.
template <int T>
REGARD_INLINE void tile_zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(T));
}

template <int T>
REGARD_INLINE void tile_load(const void* from, size_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(T) : "memory");
}

template <int T>
REGARD_INLINE void tile_store(void* to, size_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(T) : "memory");
}

template <int To, int Rows, int Weights>
REGARD_INLINE void tile_multiply() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(To), "i"(Rows), "i"(Weights));
}

#endif

// The sums of R tiles of rows by P panels, into `sums`, rows of P · 16 numbers.
template <int R, int P>
inline void multiply_block(const uint8_t* rows, size_t stride, const int8_t* panel, size_t panel_bytes, int depth,
                           int32_t* sums) {
  static_assert(R <= 2 && P <= 2);
  tile_zero<kSums>();
  if constexpr (P > 1) tile_zero<kSums + 1>();
  if constexpr (R > 1) tile_zero<kSums + 2>();
  if constexpr (R > 1 && P > 1) tile_zero<kSums + 3>();
  for (int k = 0; k < depth; k += kBlockDepth, panel += kBlockDepth * kPanel) {
    tile_load<kRows>(rows + k, stride);
    tile_load<kWeights>(panel, 64);
    tile_multiply<kSums, kRows, kWeights>();
    if constexpr (P > 1) {
      tile_load<kWeights + 1>(panel + panel_bytes, 64);
      tile_multiply<kSums + 1, kRows, kWeights + 1>();
    }
    if constexpr (R > 1) {
      tile_load<kRows + 1>(rows + kBlockRows * stride + k, stride);
      tile_multiply<kSums + 2, kRows + 1, kWeights>();
      if constexpr (P > 1) tile_multiply<kSums + 3, kRows + 1, kWeights + 1>();
    }
  }
  constexpr size_t kStride = P * kPanel * sizeof(int32_t);
  tile_store<kSums>(sums, kStride);
  if constexpr (P > 1) tile_store<kSums + 1>(sums + kPanel, kStride);
  if constexpr (R > 1) tile_store<kSums + 2>(sums + kBlockRows * P * kPanel, kStride);
  if constexpr (R > 1 && P > 1) tile_store<kSums + 3>(sums + kBlockRows * P * kPanel + kPanel, kStride);
}

}  // namespace REGARD_ISA
}  // namespace regard
