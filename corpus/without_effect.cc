#include "corpus/without_effect.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "corpus/image.h"
#include "corpus/patches.h"
#include "corpus/tensor_sizes.h"
#include "corpus/token_layout.h"

namespace mlafuzz {
namespace {

absl::Status Bad(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

absl::Status CheckFill(const std::string& where, const Fill& fill) {
  if (fill.kind() != Fill::BYTE && fill.byte() != 0) {
    return Bad(where + ".byte", "is of kind BYTE alone; leave it out");
  }
  if (fill.kind() != Fill::ROWS && fill.kind() != Fill::FINITE_ROWS &&
      fill.scales() != Fill::ARBITRARY) {
    return Bad(where + ".scales",
               "is of kind ROWS and FINITE_ROWS alone; leave it out");
  }
  return absl::OkStatus();
}

absl::Status NoBytes(const std::string& where) {
  return Bad(where + ".data", "holds no byte; give it some, or leave it out");
}

absl::Status CheckPatches(const std::string& where, const Pool& pool) {
  const std::vector<int> hides = WhatHidesPatches(pool.patches());
  for (int i = 0; i < pool.patches_size(); ++i) {
    const int by = hides[static_cast<std::size_t>(i)];
    const std::string at = absl::StrCat(where, ".patches[", i, "]");
    if (by == i) return NoBytes(at);
    if (by >= 0) {
      return Bad(at, absl::StrCat("patches[", by, "] lies over all its bytes; ",
                                  "leave one out"));
    }
  }
  return absl::OkStatus();
}

template <typename Set>
absl::Status CheckAt(const std::string& where, const Set& set,
                     TensorSize size) {
  if (set.at() < size) return absl::OkStatus();
  return Bad(where + ".at", absl::StrCat(set.at(), " is past the last of the ",
                                         size, " elements"));
}

// Of several overrides of one element the last wins.
template <typename Sets>
absl::Status CheckSets(const std::string& where, const Sets& sets,
                       TensorSize size) {
  std::map<std::uint32_t, int> seen;
  for (int i = 0; i < sets.size(); ++i) {
    const std::string at = absl::StrCat(where, ".set[", i, "]");
    if (absl::Status s = CheckAt(at, sets.Get(i), size); !s.ok()) return s;
    const auto [before, is_new] = seen.emplace(sets.Get(i).at(), i);
    if (is_new) continue;
    return Bad(absl::StrCat(where, ".set[", before->second, "]"),
               absl::StrCat("set[", i, "] sets element ", sets.Get(i).at(),
                            " again; leave one out"));
  }
  return absl::OkStatus();
}

// What says how to go on behind the last of `values`.
absl::Status CheckIntegers(const std::string& where, const Integers& list) {
  const auto literal = static_cast<std::uint32_t>(list.values_size());
  if (list.count() != 0 && list.count() <= literal) {
    return Bad(
        where + ".count",
        absl::StrCat(list.count(), " is no more than the ", literal,
                     literal == 1 ? " value" : " values", "; leave it out"));
  }
  const bool generates = list.count() > literal;
  if (!generates && list.order() != Integers::IDENTITY) {
    return Bad(where + ".order",
               "is of what `count` generates behind the values; leave it out");
  }
  if (list.order() == Integers::IDENTITY && list.seed() != 0) {
    return Bad(where + ".seed", "is of the order PERMUTED alone; leave it out");
  }
  return absl::OkStatus();
}

absl::Status CheckBits(const std::string& where, std::uint32_t bits) {
  if (bits <= 0xffff) return absl::OkStatus();
  return Bad(where, absl::StrFormat("0x%x has more than 16 bits; of an fp32 "
                                    "tensor the lower half is `low`",
                                    bits));
}

absl::Status CheckValues(const std::string& where, const Values& values,
                         DType dtype, TensorSize size) {
  const bool wide = dtype == F32;
  if (values.pattern() != Values::CONSTANT && values.bits() != 0) {
    return Bad(where + ".bits",
               "is of the pattern CONSTANT alone; leave it "
               "out");
  }
  if (absl::Status s = CheckBits(where + ".bits", values.bits()); !s.ok()) {
    return s;
  }
  if (!wide && values.low_seed() != 0) {
    return Bad(where + ".low_seed", "is of fp32 tensors alone; leave it out");
  }
  if (absl::Status s = CheckSets(where, values.set(), size); !s.ok()) return s;
  for (int i = 0; i < values.set_size(); ++i) {
    const SetBits& set = values.set(i);
    const std::string at = absl::StrCat(where, ".set[", i, "]");
    if (absl::Status s = CheckBits(at + ".bits", set.bits()); !s.ok()) return s;
    if (!wide && set.low() != 0) {
      return Bad(at + ".low", "is of fp32 tensors alone; leave it out");
    }
    if (absl::Status s = CheckBits(at + ".low", set.low()); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status CheckIndices(const std::string& where, const Indices& indices) {
  if (indices.valid() > indices.width()) {
    return Bad(where + ".valid",
               absl::StrCat(indices.valid(), " is more than the width ",
                            indices.width()));
  }
  return CheckSets(where, indices.set(), IndexCount(indices));
}

absl::Status CheckCount(const std::string& where, int given, TensorSize size,
                        absl::string_view what) {
  if (static_cast<TensorSize>(given) <= size) return absl::OkStatus();
  return Bad(where,
             absl::StrCat(given, " are more than the ", size, " ", what));
}

absl::Status CheckTable(const std::string& where, const Table& table) {
  if (table.expanded() && table.row_stride() != 0) {
    return Bad(where + ".row_stride",
               "an expanded table has one row; leave it out");
  }
  if (absl::Status s = CheckIntegers(where + ".pages", table.pages());
      !s.ok()) {
    return s;
  }
  return CheckCount(where + ".pages.values", table.pages().values_size(),
                    TableEntries(table), "entries");
}

// A buffer lies `offset` elements past a multiple of 256 bytes.
absl::Status CheckOffset(const std::string& where, std::uint32_t offset,
                         int element) {
  const auto most = static_cast<std::uint32_t>(256 / element);
  if (offset < most) return absl::OkStatus();
  return Bad(where, absl::StrCat(offset, " is past 256 bytes, in which every ",
                                 "position comes up; at most ", most - 1));
}

absl::Status CheckWrite(const TokenLayout& layout, const std::string& where,
                        const Write& w) {
  if (absl::Status s = CheckIntegers(where + ".slots", w.slots()); !s.ok()) {
    return s;
  }
  const DType dtype = w.input() == DTYPE_UNSPECIFIED ? BF16 : w.input();
  if (absl::Status s =
          CheckValues(where + ".kv_c", w.kv_c(), dtype, KvCValues(layout, w));
      !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckOffset(where + ".kv_c_offset", w.kv_c_offset(),
                                   DTypeSize(dtype));
      !s.ok()) {
    return s;
  }
  if (w.pe_dim() == 0) {
    for (const auto& [given, field] :
         {std::pair(w.k_pe().ByteSizeLong() != 0, ".k_pe"),
          std::pair(w.k_pe_row_stride() != 0, ".k_pe_row_stride"),
          std::pair(w.k_pe_offset() != 0, ".k_pe_offset")}) {
      if (!given) continue;
      return Bad(where + field,
                 "the rows have no rope; set pe_dim, or leave it out");
    }
    return absl::OkStatus();
  }
  if (absl::Status s =
          CheckValues(where + ".k_pe", w.k_pe(), dtype, KPeValues(w));
      !s.ok()) {
    return s;
  }
  return CheckOffset(where + ".k_pe_offset", w.k_pe_offset(), DTypeSize(dtype));
}

absl::Status CheckConvert(const std::string& where, const Convert& c) {
  if (absl::Status s = CheckTable(where + ".block_table", c.block_table());
      !s.ok()) {
    return s;
  }
  if (absl::Status s =
          CheckCount(where + ".request_ids.values",
                     c.request_ids().values_size(), RequestIds(c), "rows");
      !s.ok()) {
    return s;
  }
  return CheckIndices(where + ".token_indices", c.token_indices());
}

absl::Status CheckDecode(const std::string& where, const Decode& d) {
  if (absl::Status s = CheckValues(where + ".q", d.q(), BF16, QValues(d));
      !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckIndices(where + ".indices", d.indices()); !s.ok()) {
    return s;
  }
  if (!d.has_extra()) return absl::OkStatus();
  const std::string extra = where + ".extra";
  const Pool& pool = d.extra().pool();
  if (absl::Status s = CheckFill(extra + ".pool.fill", pool.fill()); !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckOffset(extra + ".pool.offset", pool.offset(), 1);
      !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckPatches(extra + ".pool", pool); !s.ok()) return s;
  return CheckIndices(extra + ".indices", d.extra().indices());
}

}  // namespace

absl::Status RefuseWhatHasNoEffect(const Case& c) {
  if (absl::Status s = CheckFill("pool.fill", c.pool().fill()); !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckPatches("pool", c.pool()); !s.ok()) return s;
  const TokenLayout& layout = TokenLayoutOf(c.pool().layout());
  for (int i = 0; i < c.steps_size(); ++i) {
    const Step& step = c.steps(i);
    const std::string where = absl::StrCat("steps[", i, "]");
    absl::Status s;
    switch (step.call_case()) {
      case Step::kWrite:
        s = CheckWrite(layout, where + ".write", step.write());
        break;
      case Step::kGather:
        s = CheckTable(where + ".gather.block_table",
                       step.gather().block_table());
        break;
      case Step::kConvert:
        s = CheckConvert(where + ".convert", step.convert());
        break;
      case Step::kDecode:
        s = CheckDecode(where + ".decode", step.decode());
        break;
      case Step::kPatch:
        if (step.patch().data().empty()) s = NoBytes(where + ".patch");
        break;
      case Step::CALL_NOT_SET:
        break;
    }
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
