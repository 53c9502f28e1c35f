#ifndef MLAFUZZ_FUZZ_CAMPAIGN_REPORT_PAGE_H_
#define MLAFUZZ_FUZZ_CAMPAIGN_REPORT_PAGE_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/worker/evidence.pb.h"

namespace mlafuzz {

// What a finding's section shows beside the fields of report.json.
struct FindingDetails {
  const Evidence* evidence = nullptr;  // null: its note says why
  // The first of its reproducers, and where it is in the output folder.
  std::string reproducer;
  std::string reproducer_path;
};

// report.html of report.json: one page that needs nothing beside it and runs no
// script (its policy forbids both), so that no word of a kernel's can. Files of
// the output folder are linked. `details` by finding id.
//
// Pictures of what went wrong are drawn for the first kMostPictured findings,
// and long texts are cut, with the file's name: 50 findings stay below 3 MB.
inline constexpr std::size_t kMostPictured = 50;
std::string ReportPage(const nlohmann::ordered_json& report,
                       const std::map<std::string, FindingDetails>& details);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_CAMPAIGN_REPORT_PAGE_H_
