#ifndef MLAFUZZ_CORPUS_TENSOR_SIZES_H_
#define MLAFUZZ_CORPUS_TENSOR_SIZES_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "corpus/case.pb.h"
#include "corpus/token_layout.h"

namespace mlafuzz {

// Of a case that is not built, and may be too large to be: how many elements
// the lists and values of a call may name. Counted without a limit, and cut
// off at 2^64 - 1.
using TensorSize = std::uint64_t;

inline TensorSize SizeOf(std::initializer_list<std::uint64_t> extents) {
  unsigned __int128 size = 1;
  for (const std::uint64_t extent : extents) {
    size *= extent;
    size = std::min<unsigned __int128>(size, UINT64_MAX);
  }
  return static_cast<TensorSize>(size);
}

// Source rows that have a slot.
inline TensorSize UsedRows(const Write& w) {
  const std::int64_t tokens =
      std::max<std::int64_t>(w.slots().count(), w.slots().values_size());
  return static_cast<TensorSize>(
      std::clamp<std::int64_t>(tokens + w.surplus_rows(), 0, tokens));
}
// Values of kv_c, of k_pe and of q that are not poison.
inline TensorSize KvCValues(const TokenLayout& layout, const Write& w) {
  return SizeOf({UsedRows(w), w.latent_dim()
                                  ? w.latent_dim()
                                  : static_cast<std::uint64_t>(layout.codes)});
}
inline TensorSize KPeValues(const Write& w) {
  return SizeOf({UsedRows(w), w.pe_dim()});
}
inline TensorSize QValues(const Decode& d) {
  return SizeOf({d.queries(), d.heads(), 512 + std::uint64_t{d.pe_dim()}});
}

inline TensorSize IndexCount(const Indices& indices) {
  return SizeOf({indices.rows(), indices.width()});
}

// Entries that a table stores.
inline TensorSize TableEntries(const Table& table) {
  const std::uint64_t rows =
      table.expanded() ? std::uint64_t{table.rows() > 0} : table.rows();
  return SizeOf({rows, table.columns()});
}

inline TensorSize RequestIds(const Convert& c) {
  return static_cast<TensorSize>(std::max<std::int64_t>(
      0, std::int64_t{c.token_indices().rows()} + c.surplus_requests()));
}

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_TENSOR_SIZES_H_
