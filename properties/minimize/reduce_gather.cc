#include <cstdint>
#include <cstdlib>

#include "corpus/case.pb.h"
#include "properties/minimize/models.h"
#include "properties/minimize/reduce.h"

namespace mlafuzz::minimize {
namespace {

// One number of one request at a time.
bool ReduceRequests(Search& search, int step) {
  bool progress = false;
  const auto gather = [&](Case& c) -> Gather& {
    return *c.mutable_steps(step)->mutable_gather();
  };
  const auto lower = [&](const auto& list, const auto& set) {
    for (int i = 0; i < list.size(); ++i) {
      const std::int32_t now = list.Get(i);
      for (const std::int32_t v : {0, 1, -1, now / 2}) {
        if (v == now ||
            std::abs(std::int64_t{v}) > std::abs(std::int64_t{now})) {
          continue;
        }
        if (search.TryEdit([&](Case& c) { set(gather(c), i, v); })) {
          progress = true;
          break;
        }
      }
    }
  };
  const Gather before = search.best().steps(step).gather();
  lower(before.workspace_starts(),
        [](Gather& g, int i, std::int32_t v) { g.set_workspace_starts(i, v); });
  lower(before.seq_lens(),
        [](Gather& g, int i, std::int32_t v) { g.set_seq_lens(i, v); });
  lower(before.seq_starts(),
        [](Gather& g, int i, std::int32_t v) { g.set_seq_starts(i, v); });
  return progress;
}

bool DropOneRequest(Search& search, int step) {
  const int requests =
      search.best().steps(step).gather().workspace_starts_size();
  for (int i = requests - 1; i >= 0; --i) {
    if (search.TryEdit([&](Case& c) {
          DropRequest(i, c.mutable_steps(step)->mutable_gather());
        })) {
      return true;
    }
  }
  return false;
}

bool ReduceBatch(Search& search, int step) {
  bool progress = false;
  const auto gather = [&](Case& c) -> Gather& {
    return *c.mutable_steps(step)->mutable_gather();
  };
  progress |= search.TryEdit([&](Case& c) { gather(c).clear_seq_lens(); });
  progress |= search.TryEdit([&](Case& c) { gather(c).clear_seq_starts(); });
  progress |= search.TryEdit([&](Case& c) {
    gather(c).clear_workspace_starts();
    gather(c).set_dst_rows(0);
  });
  progress |= search.TryEdit([&](Case& c) { gather(c).set_dst_rows(0); });
  progress |= search.TryEdit(
      [&](Case& c) { gather(c).mutable_block_table()->clear_pages(); });
  progress |= search.TryEdit([&](Case& c) {
    Table& table = *gather(c).mutable_block_table();
    const std::uint32_t rows = table.rows();
    table.Clear();
    table.set_rows(rows);
  });
  progress |= search.TryEdit([&](Case& c) {
    gather(c).mutable_block_table()->clear_expanded();
    gather(c).mutable_block_table()->clear_row_stride();
  });
  progress |=
      search.Lower(search.best().steps(step).gather().block_table().rows(), 0,
                   [&](Case& c, std::uint64_t v) {
                     gather(c).mutable_block_table()->set_rows(
                         static_cast<std::uint32_t>(v));
                   });
  progress |=
      search.Lower(search.best().steps(step).gather().block_table().columns(),
                   0, [&](Case& c, std::uint64_t v) {
                     gather(c).mutable_block_table()->set_columns(
                         static_cast<std::uint32_t>(v));
                   });
  progress |=
      search.Lower(search.best().steps(step).gather().dst_rows(), 0,
                   [&](Case& c, std::uint64_t v) {
                     gather(c).set_dst_rows(static_cast<std::uint32_t>(v));
                   });
  return progress;
}

}  // namespace

bool ReduceGather(Search& search, int step) {
  bool progress = false;
  const auto gather = [&](Case& c) -> Gather& {
    return *c.mutable_steps(step)->mutable_gather();
  };
  progress |=
      search.TryEdit([&](Case& c) { gather(c).clear_dst_row_stride(); });
  progress |= search.TryEdit([&](Case& c) { gather(c).clear_dst_columns(); });
  progress |= search.TryEdit([&](Case& c) { gather(c).clear_output(); });
  progress |= search.TryEdit([&](Case& c) { gather(c).clear_nope(); });
  GatherModel model;
  if (!ToModel(search.best().steps(step).gather(), search.best().pool(),
               &model)) {
    // The order is part of the fault only if nothing simpler fails.
    if (search.TryEdit([&](Case& c) { Straighten(&gather(c)); })) return true;
    if (DropOneRequest(search, step)) return true;
    // Else, as where requests disagree in number: fewer of all.
    progress |= ReduceRequests(search, step);
    progress |= ReduceBatch(search, step);
    return progress;
  }
  const auto try_model = [&](const GatherModel& m) {
    if (!search.TryEdit([&](Case& c) { FromModel(m, &gather(c)); }))
      return false;
    ToModel(search.best().steps(step).gather(), search.best().pool(), &model);
    return true;
  };
  for (const GatherModel& smaller : ReductionsOf(model)) {
    if (try_model(smaller)) return true;  // the rest is made anew
  }
  // A model lays dst out anew, with all that its requests hold: as it stands
  // one may still be left out.
  if (DropOneRequest(search, step)) return true;
  if (search.best().steps(step).gather().dst_row_stride() > 584) {
    progress |=
        search.TryEdit([&](Case& c) { gather(c).set_dst_row_stride(584); });
  }
  return progress;
}

}  // namespace mlafuzz::minimize
