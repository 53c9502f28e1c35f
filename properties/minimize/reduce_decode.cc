#include <algorithm>
#include <cstdint>
#include <vector>

#include "corpus/case.pb.h"
#include "properties/minimize/models.h"
#include "properties/minimize/reduce.h"
#include "properties/minimize/reduce_values.h"

namespace mlafuzz::minimize {
namespace {

constexpr std::uint32_t kOne32 = 0x3f800000;

// Of a call that has to be refused.
bool ReduceShapes(Search& search, int step) {
  bool progress = false;
  const auto decode = [&](Case& c) -> Decode& {
    return *c.mutable_steps(step)->mutable_decode();
  };
  const auto now = [&]() -> const Decode& {
    return search.best().steps(step).decode();
  };
  progress |= search.TryEdit([&](Case& c) {
    Indices& indices = *decode(c).mutable_indices();
    const std::uint32_t rows = indices.rows();
    indices.Clear();
    indices.set_rows(rows);
    indices.set_width(1);
  });
  progress |= search.Lower(now().queries(), 0, [&](Case& c, std::uint64_t v) {
    decode(c).set_queries(static_cast<std::uint32_t>(v));
  });
  progress |=
      search.Lower(now().indices().rows(), 0, [&](Case& c, std::uint64_t v) {
        decode(c).mutable_indices()->set_rows(static_cast<std::uint32_t>(v));
      });
  progress |= search.Lower(now().heads(), 0, [&](Case& c, std::uint64_t v) {
    decode(c).set_heads(static_cast<std::uint32_t>(v));
  });
  return progress;
}

// Query, output and LSE without gaps.
void Dense(Decode& d) {
  d.clear_q_head_stride();
  d.clear_q_query_stride();
  d.clear_out_head_stride();
  d.clear_out_query_stride();
  d.clear_lse_query_stride();
}

// The same values of q without the rope's columns.
void WithoutRope(Decode& d) {
  const std::uint32_t columns = 512 + d.pe_dim();
  Values& q = *d.mutable_q();
  std::vector<SetBits> kept;
  for (const SetBits& set : q.set()) {
    if (set.at() % columns >= 512) continue;
    kept.push_back(set);
    kept.back().set_at(set.at() / columns * 512 + set.at() % columns);
  }
  q.clear_set();
  for (const SetBits& set : kept) *q.add_set() = set;
  d.clear_pe_dim();
}

// Without a second cache, or with a plainer one.
bool ReduceExtra(Search& search, int step) {
  const auto decode = [step](Case& c) -> Decode& {
    return *c.mutable_steps(step)->mutable_decode();
  };
  const auto now = [&]() -> const ExtraCache& {
    return search.best().steps(step).decode().extra();
  };
  if (!search.best().steps(step).decode().has_extra()) return false;
  if (search.TryEdit([&](Case& c) { decode(c).clear_extra(); })) return true;
  bool progress = false;
  const auto extra = [&](Case& c) -> ExtraCache& {
    return *decode(c).mutable_extra();
  };
  const auto pool = [&](Case& c) -> Pool& { return *extra(c).mutable_pool(); };
  progress |= search.TryEdit([&](Case& c) { extra(c).clear_lengths(); });
  progress |= search.TryEdit([&](Case& c) {
    pool(c).clear_page_stride();
    pool(c).clear_offset();
  });
  progress |= search.TryEdit([&](Case& c) { pool(c).clear_page_stride(); });
  progress |= search.TryEdit([&](Case& c) { pool(c).clear_patches(); });
  progress |= search.TryEdit([&](Case& c) { pool(c).clear_fill(); });
  progress |= search.TryEdit(
      [&](Case& c) { extra(c).mutable_indices()->clear_row_stride(); });
  const auto lower = [&](std::uint64_t value, std::uint64_t least,
                         void (*set)(ExtraCache&, std::uint32_t)) {
    progress |= search.Lower(value, least, [&](Case& c, std::uint64_t v) {
      set(extra(c), static_cast<std::uint32_t>(v));
    });
  };
  lower(now().pool().pages(), 1,
        [](ExtraCache& e, std::uint32_t v) { e.mutable_pool()->set_pages(v); });
  lower(now().pool().page_size(), 1, [](ExtraCache& e, std::uint32_t v) {
    e.mutable_pool()->set_page_size(v);
  });
  lower(now().indices().width(), 1, [](ExtraCache& e, std::uint32_t v) {
    e.mutable_indices()->set_width(v);
    e.mutable_indices()->set_valid(std::min(e.indices().valid(), v));
  });
  lower(now().indices().valid(), 0, [](ExtraCache& e, std::uint32_t v) {
    e.mutable_indices()->set_valid(v);
  });
  return progress;
}

}  // namespace

bool ReduceDecode(Search& search, int step) {
  bool progress = ReduceExtra(search, step);
  const auto decode = [&](Case& c) -> Decode& {
    return *c.mutable_steps(step)->mutable_decode();
  };
  const auto now = [&]() -> const Decode& {
    return search.best().steps(step).decode();
  };
  progress |= search.TryEdit([&](Case& c) {
    Decode& d = decode(c);
    d.clear_lengths();
    d.clear_sink_bits();
    d.clear_splits();
    d.clear_declared_topk();
    d.clear_query_length();
    d.mutable_indices()->clear_row_stride();
    Dense(d);
  });
  progress |= search.TryEdit([&](Case& c) { Dense(decode(c)); });
  progress |= search.TryEdit([&](Case& c) { decode(c).clear_q_head_stride(); });
  progress |=
      search.TryEdit([&](Case& c) { decode(c).clear_q_query_stride(); });
  progress |=
      search.TryEdit([&](Case& c) { decode(c).clear_out_head_stride(); });
  progress |=
      search.TryEdit([&](Case& c) { decode(c).clear_out_query_stride(); });
  progress |=
      search.TryEdit([&](Case& c) { decode(c).clear_lse_query_stride(); });
  progress |= search.TryEdit(
      [&](Case& c) { decode(c).mutable_indices()->clear_row_stride(); });
  progress |= search.TryEdit([&](Case& c) { decode(c).clear_lengths(); });
  progress |= search.TryEdit([&](Case& c) { decode(c).clear_sink_bits(); });
  progress |= search.TryEdit([&](Case& c) { decode(c).clear_splits(); });
  progress |= search.TryEdit([&](Case& c) { decode(c).clear_declared_topk(); });
  progress |= search.TryEdit([&](Case& c) { decode(c).clear_query_length(); });
  progress |= search.TryEdit(
      [&](Case& c) { decode(c).set_softmax_scale_bits(kOne32); });
  progress |= search.Lower(now().splits(), 1, [&](Case& c, std::uint64_t v) {
    decode(c).set_splits(static_cast<std::uint32_t>(v));
  });
  progress |=
      search.Lower(now().declared_topk(), 1, [&](Case& c, std::uint64_t v) {
        decode(c).set_declared_topk(static_cast<std::uint32_t>(v));
      });
  for (int i = 0; i < std::min(now().sink_bits_size(), 4); ++i) {
    for (const std::uint32_t bits : {0u, kOne32}) {
      progress |= i < now().sink_bits_size() && search.TryEdit([&](Case& c) {
        decode(c).set_sink_bits(i, bits);
      });
    }
  }
  DecodeModel model;
  if (ToModel(now(), &model)) {
    for (const DecodeModel& smaller : ReductionsOf(model)) {
      for (const bool written_out : {false, true}) {
        // Lanes and lengths leave q as it is.
        const bool same_q = smaller.heads == model.heads &&
                            smaller.queries.size() == model.queries.size();
        if (written_out && (same_q || smaller.queries.empty() ||
                            smaller.queries[0].q.empty() ||
                            smaller.queries.size() * smaller.heads > 4)) {
          continue;
        }
        if (search.TryEdit([&](Case& c) {
              FromModel(smaller, written_out, &decode(c));
            })) {
          return true;  // the rest is made anew
        }
      }
    }
    // What a few bytes of the pool show in several queries, other values may
    // show in one.
    for (std::size_t i = 0;
         i < std::min<std::size_t>(model.queries.size(), 4) &&
         model.queries.size() > 1 && search.best().pool().patches_size() > 0;
         ++i) {
      DecodeModel one = model;
      one.queries = {model.queries[i]};
      if (search.TryEdit([&](Case& c) {
            c.mutable_pool()->clear_patches();
            // Else its bounds may allow anything.
            if (c.pool().has_fill()) {
              c.mutable_pool()->mutable_fill()->clear_scales();
            }
            FromModel(one, /*written_out=*/false, &decode(c));
            decode(c).mutable_q()->Clear();
            decode(c).mutable_q()->set_pattern(Values::NORMAL_RANGE);
          })) {
        return true;
      }
    }
    // The same lanes in other words.
    progress |= search.TryEdit(
        [&](Case& c) { FromModel(model, /*written_out=*/false, &decode(c)); });
  } else {
    progress |= ReduceShapes(search, step);
  }
  if (now().pe_dim() != 0) {
    progress |= search.TryEdit([&](Case& c) { WithoutRope(decode(c)); });
    progress |= search.TryEdit([&](Case& c) { decode(c).clear_pe_dim(); });
  }
  progress |= ReduceValues(
      search, [&](Case& c) -> Values& { return *decode(c).mutable_q(); }, BF16,
      std::uint64_t{now().queries()} * now().heads() * (512 + now().pe_dim()));
  return progress;
}

}  // namespace mlafuzz::minimize
