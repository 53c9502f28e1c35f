#include <cstdint>

#include "corpus/case.pb.h"
#include "properties/minimize/models.h"
#include "properties/minimize/reduce.h"

namespace mlafuzz::minimize {

bool ReduceConvert(Search& search, int step) {
  bool progress = false;
  const auto convert = [&](Case& c) -> Convert& {
    return *c.mutable_steps(step)->mutable_convert();
  };
  progress |= search.TryEdit([&](Case& c) {
    convert(c).clear_out_row_stride();
    convert(c).mutable_token_indices()->clear_row_stride();
  });
  progress |=
      search.TryEdit([&](Case& c) { convert(c).clear_out_row_stride(); });
  progress |= search.TryEdit(
      [&](Case& c) { convert(c).mutable_token_indices()->clear_row_stride(); });
  progress |= search.TryEdit([&](Case& c) { convert(c).clear_valid_count(); });
  progress |=
      search.TryEdit([&](Case& c) { convert(c).clear_surplus_requests(); });
  const std::int32_t surplus =
      search.best().steps(step).convert().surplus_requests();
  for (const std::int32_t one : {1, -1}) {
    if (surplus * one > 1) {
      progress |= search.TryEdit(
          [&](Case& c) { convert(c).set_surplus_requests(one); });
    }
  }
  ConvertModel model;
  if (!ToModel(search.best().steps(step).convert(), search.best().pool(),
               &model)) {
    return progress;
  }
  for (const ConvertModel& smaller : ReductionsOf(model)) {
    if (search.TryEdit([&](Case& c) { FromModel(smaller, &convert(c)); })) {
      return true;
    }
  }
  return progress;
}

}  // namespace mlafuzz::minimize
