#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPORT_PICTURE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPORT_PICTURE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// Inline SVG: it scales with the page, and a style of the page colours it by
// class, so that nothing stands in it twice.
namespace mlafuzz {

struct CurveSample {
  double x = 0;
  double y = 0;
};

// A line over time from 0 to its last x, with the largest y written beside it;
// `name` is what it shows. Steps, where `stepped`: counts of single events.
// Empty for fewer than two samples.
std::string CurveSvg(absl::string_view name,
                     const std::vector<CurveSample>& samples, bool stepped);

// A grid of `columns` cells a line, one a character of `cells`, from the left
// and the top. Neighbours of one kind are one shape. A kind is a letter and the
// class "k" + letter; ' ' draws nothing. `label` is read out in its place.
std::string GridSvg(absl::string_view label, absl::string_view cells,
                    int columns);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPORT_PICTURE_H_
