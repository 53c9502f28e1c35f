#include <algorithm>
#include <cstdint>
#include <vector>

#include "corpus/case.pb.h"
#include "corpus/values.h"
#include "properties/minimize/reduce.h"
#include "properties/minimize/reduce_values.h"

namespace mlafuzz::minimize {
namespace {

// The tokens `keep` of `w`, with the values that they had where few enough
// are left to be written out.
void KeepTokens(Write& w, const std::vector<std::uint64_t>& keep,
                std::uint64_t slots_in_pool, bool written_out) {
  const std::vector<std::int64_t> slots =
      ExpandIntegers(w.slots(), TokensOf(w), slots_in_pool);
  w.clear_slots();
  const auto keep_rows = [&](Values& values, std::uint64_t columns) {
    if (columns == 0) return;
    const bool uniform = (values.pattern() == Values::ZERO ||
                          values.pattern() == Values::CONSTANT) &&
                         values.set_size() == 0;
    if (uniform) return;
    if (!written_out) return;
    const std::vector<std::uint16_t> bits = ExpandValues(
        values, w.input() == F16 ? F16 : BF16, (keep.back() + 1) * columns);
    const std::vector<std::uint32_t> wide =
        ExpandFp32Values(values, (keep.back() + 1) * columns);
    values.Clear();
    for (std::size_t row = 0; row < keep.size(); ++row) {
      for (std::uint64_t i = 0; i < columns; ++i) {
        const std::uint16_t v = bits[keep[row] * columns + i];
        if (v == 0) continue;
        SetBits& set = *values.add_set();
        set.set_at(static_cast<std::uint32_t>(row * columns + i));
        set.set_bits(v);
        if (w.input() == F32) {
          set.set_low(wide[keep[row] * columns + i] & 0xffff);
        }
      }
    }
  };
  if (!keep.empty()) {
    keep_rows(*w.mutable_kv_c(), w.latent_dim() != 0 ? w.latent_dim() : 512);
    keep_rows(*w.mutable_k_pe(), w.pe_dim());
  }
  for (const std::uint64_t token : keep) {
    w.mutable_slots()->add_values(slots[token]);
  }
}

bool TryTokens(Search& search, int step,
               const std::vector<std::uint64_t>& keep) {
  const std::uint64_t slots = std::uint64_t{search.best().pool().page_size()} *
                              search.best().pool().pages();
  for (const bool written_out : {false, true}) {
    if (written_out && keep.size() * 512 > kMostWrittenOut) continue;
    if (search.TryEdit([&](Case& c) {
          KeepTokens(*c.mutable_steps(step)->mutable_write(), keep, slots,
                     written_out);
        })) {
      return true;
    }
  }
  return false;
}

bool DropTokens(Search& search, int step) {
  bool progress = false;
  const auto tokens = [&] {
    return TokensOf(search.best().steps(step).write());
  };
  if (tokens() == 0) return false;
  if (TryTokens(search, step, {})) return true;
  // Any one alone; of many, the first and last few: the runs below find the
  // others soon enough.
  if (tokens() > 1) {
    constexpr std::uint64_t kEnds = 4;
    const std::uint64_t n = tokens();
    for (std::uint64_t t = 0; t < n; ++t) {
      if (n > 2 * kEnds && t == kEnds) t = n - kEnds;
      if (TryTokens(search, step, {t})) return true;
    }
  }
  // Without a run of them.
  for (std::uint64_t run = tokens() / 2; run > 0; run /= 2) {
    for (std::uint64_t at = 0; at < tokens() && tokens() > 1;) {
      std::vector<std::uint64_t> keep;
      for (std::uint64_t t = 0; t < tokens(); ++t) {
        if (t < at || t >= at + run) keep.push_back(t);
      }
      if (TryTokens(search, step, keep)) {
        progress = true;
      } else {
        at += run;
      }
    }
  }
  return progress;
}

}  // namespace

bool ReduceWrite(Search& search, int step) {
  bool progress = false;
  const auto write = [&](Case& c) -> Write& {
    return *c.mutable_steps(step)->mutable_write();
  };
  progress |= search.TryEdit([&](Case& c) {
    Write& w = write(c);
    w.clear_kv_c_row_stride();
    w.clear_k_pe_row_stride();
    w.clear_kv_c_offset();
    w.clear_k_pe_offset();
    w.clear_surplus_rows();
  });
  progress |=
      search.TryEdit([&](Case& c) { write(c).clear_kv_c_row_stride(); });
  progress |=
      search.TryEdit([&](Case& c) { write(c).clear_k_pe_row_stride(); });
  progress |= search.TryEdit([&](Case& c) { write(c).clear_kv_c_offset(); });
  progress |= search.TryEdit([&](Case& c) { write(c).clear_k_pe_offset(); });
  progress |= search.TryEdit([&](Case& c) { write(c).clear_surplus_rows(); });
  progress |= search.TryEdit([&](Case& c) { write(c).clear_latent_dim(); });
  progress |= search.TryEdit([&](Case& c) {
    Write& w = write(c);
    w.clear_pe_dim();
    w.clear_k_pe();
    w.clear_k_pe_row_stride();
    w.clear_k_pe_offset();
  });
  progress |= search.TryEdit([&](Case& c) {
    write(c).clear_input();
    write(c).mutable_kv_c()->clear_set();
    write(c).mutable_k_pe()->clear_set();
  });
  progress |= search.TryEdit([&](Case& c) { write(c).clear_input(); });
  if (search.best().steps(step).write().input() == F16) {
    // Its few values as 1.5 in the other format.
    progress |= search.TryEdit([&](Case& c) {
      write(c).clear_input();
      for (SetBits& set : *write(c).mutable_kv_c()->mutable_set()) {
        set.set_bits(0x3fc0);
      }
    });
  }
  if (TokensOf(search.best().steps(step).write()) > 8) {
    progress |= EndsAlone(search, [&](Case& c) -> Integers& {
      return *write(c).mutable_slots();
    });
  }
  progress |= DropTokens(search, step);
  progress |= WriteOutIntegers(
      search, [&](Case& c) -> Integers& { return *write(c).mutable_slots(); });
  progress |= EndsAlone(
      search, [&](Case& c) -> Integers& { return *write(c).mutable_slots(); });
  progress |= ReduceIntegers(
      search, [&](Case& c) -> Integers& { return *write(c).mutable_slots(); });
  const Write& w = search.best().steps(step).write();
  progress |=
      ReduceWritten(search, step, w.latent_dim() != 0 ? w.latent_dim() : 512,
                    [](Write& x) -> Values& { return *x.mutable_kv_c(); });
  if (search.best().steps(step).write().pe_dim() != 0) {
    progress |=
        ReduceWritten(search, step, search.best().steps(step).write().pe_dim(),
                      [](Write& x) -> Values& { return *x.mutable_k_pe(); });
  }
  // Smaller numbers where a knob is needed.
  const Write now = search.best().steps(step).write();
  if (now.kv_c_row_stride() > 520) {
    progress |=
        search.TryEdit([&](Case& c) { write(c).set_kv_c_row_stride(520); });
  }
  if (now.k_pe_row_stride() > 66) {
    progress |=
        search.TryEdit([&](Case& c) { write(c).set_k_pe_row_stride(66); });
  }
  if (now.kv_c_offset() > 8) {
    progress |= search.TryEdit([&](Case& c) { write(c).set_kv_c_offset(8); });
  }
  if (now.kv_c_offset() > 1) {
    progress |= search.TryEdit([&](Case& c) { write(c).set_kv_c_offset(1); });
  }
  if (now.k_pe_offset() > 2) {
    progress |= search.TryEdit([&](Case& c) { write(c).set_k_pe_offset(2); });
  }
  for (const std::int32_t rows : {1, -1}) {
    if (now.surplus_rows() * rows > 1) {
      progress |=
          search.TryEdit([&](Case& c) { write(c).set_surplus_rows(rows); });
    }
  }
  return progress;
}

}  // namespace mlafuzz::minimize
