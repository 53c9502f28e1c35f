#include "oracle/diagnosis_parts.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace mlafuzz::oracle {
namespace {

bool Has(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

bool IsOfACall(const Check& check, const CaseImage& image,
               const Observation& observation) {
  const auto step = static_cast<std::size_t>(check.step);
  return check.step >= 0 && step < image.steps.size() &&
         step < observation.steps.size() && !image.steps[step].is_patch;
}

std::string KeyOf(const Neighbour& neighbour) {
  return absl::StrCat(neighbour.field, "=", neighbour.changed);
}

Diagnosis Pattern(std::string key, std::string cause) {
  return {.field = "", .key = std::move(key), .cause = std::move(cause)};
}

Diagnosis BehavesAs(const Neighbour& neighbour, const std::string& seen) {
  return {.field = neighbour.field,
          .key = KeyOf(neighbour),
          .cause = absl::StrCat(neighbour.field, ": the contract says ",
                                neighbour.declared, ", the kernel behaves as ",
                                neighbour.changed, ": ", seen)};
}

Diagnosis DecodesAsUnder(const Neighbour& neighbour, const std::string& what) {
  return {
      .field = neighbour.field,
      .key = KeyOf(neighbour),
      .cause = absl::StrCat("the decode ", what, " ", neighbour.field, " = ",
                            neighbour.changed, ", not ", neighbour.declared)};
}

void AddAlso(Diagnosis& diagnosis, const std::string& key) {
  if (key == diagnosis.key || Has(diagnosis.also, key)) return;
  diagnosis.also.push_back(key);
}

void AddPossible(Diagnosis& diagnosis, const std::string& key) {
  if (key == diagnosis.key || Has(diagnosis.also, key) ||
      Has(diagnosis.possible, key)) {
    return;
  }
  diagnosis.possible.push_back(key);
}

}  // namespace mlafuzz::oracle
