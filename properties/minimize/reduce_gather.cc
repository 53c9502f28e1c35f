#include <cstdint>

#include "corpus/case.pb.h"
#include "properties/minimize/models.h"
#include "properties/minimize/reduce.h"

namespace mlafuzz::minimize {
namespace {

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
    // Requests disagree in number; fewer of all.
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
  if (search.best().steps(step).gather().dst_row_stride() > 584) {
    progress |=
        search.TryEdit([&](Case& c) { gather(c).set_dst_row_stride(584); });
  }
  return progress;
}

}  // namespace mlafuzz::minimize
