#include "oracle/evidence.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "corpus/contracts.h"
#include "oracle/damage.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/faults.h"
#include "oracle/decode/observed_rows.h"
#include "oracle/decode/scale_pairs.h"
#include "oracle/diagnosis_parts.h"
#include "oracle/expect.h"

namespace mlafuzz::oracle {
namespace {

// Elements in a fixed order: whether each is as some expectation says.
using Matching = std::vector<bool>;

void AddRow(const std::string& key, const Matching& declared,
            const Matching& other, EvidenceTable* table) {
  Evidence row;
  row.key = key;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    row.explained += !declared[i] && other[i];
    row.contradicted += declared[i] && !other[i];
  }
  if (row.explained > 0) table->rows.push_back(std::move(row));
}

void Count(const Matching& declared, EvidenceTable* table) {
  table->right = std::count(declared.begin(), declared.end(), true);
  table->wrong = static_cast<std::int64_t>(declared.size()) - table->right;
}

// Byte for byte, the pool and then the outputs.
Matching MatchBytes(const Expectation& expected, const StepImage& step,
                    absl::Span<const std::uint8_t> before,
                    const AfterImage& after) {
  Matching matching;
  const auto add = [&](absl::Span<const std::uint8_t> want,
                       absl::Span<const std::uint8_t> got) {
    for (std::size_t i = 0; i < want.size(); ++i) {
      matching.push_back(want[i] == got[i]);
    }
  };
  add(ExpectedPool(expected, before), after.pool);
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    if (step.tensors[t].output) add(expected.outputs[t], after.outputs[t]);
  }
  return matching;
}

void WeighDecode(const Contract& contract, const CaseImage& image, int step,
                 absl::Span<const std::uint8_t> before,
                 const StepObservation& observed, EvidenceTable* table) {
  const ObservedRows rows(image.steps[static_cast<std::size_t>(step)],
                          observed);
  if (!rows.well_formed()) return;
  const Matching declared =
      rows.Matching(ExpectDecode(contract, image, step, before));
  Count(declared, table);
  if (table->wrong == 0) return;
  const auto add = [&](const std::string& key, const Contract& other,
                       const ExpectOptions& options) {
    AddRow(key, declared,
           rows.Matching(ExpectDecode(other, image, step, before, options)),
           table);
  };
  for (const Neighbour& n : Neighbours(contract, Kernel::kDecode)) {
    add(KeyOf(n), n.contract, {});
  }
  for (const ScalePair& pair : ScalePairs(contract)) {
    add(pair.key(), pair.contract, {});
  }
  for (const DecodeFault& fault : DecodeFaults(contract, image, step)) {
    add(fault.key, contract, fault.options);
  }
}

}  // namespace

EvidenceTable WeighEvidence(const Contract& contract, const CaseImage& image,
                            int step, const PoolHistory& history,
                            const StepObservation& observed) {
  EvidenceTable table;
  const StepImage& at = image.steps[static_cast<std::size_t>(step)];
  const absl::Span<const std::uint8_t> before = history.before();
  if (at.kernel == Kernel::kDecode) {
    WeighDecode(contract, image, step, before, observed, &table);
  } else {
    AfterImage after;
    if (!AfterImageOf(at, observed, history.after(), &after)) return table;
    const Matching declared =
        MatchBytes(Expect(contract, image, step, before), at, before, after);
    Count(declared, &table);
    if (table.wrong == 0) return table;
    for (const Neighbour& n : Neighbours(contract, at.kernel)) {
      AddRow(KeyOf(n), declared,
             MatchBytes(Expect(n.contract, image, step, before), at, before,
                        after),
             &table);
    }
  }
  // Of equals the first stays so.
  std::vector<std::size_t> order(table.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    const Evidence& a = table.rows[i];
    const Evidence& b = table.rows[j];
    return std::tuple(b.explained, a.contradicted, i) <
           std::tuple(a.explained, b.contradicted, j);
  });
  std::vector<Evidence> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) {
    sorted.push_back(std::move(table.rows[i]));
  }
  table.rows = std::move(sorted);
  return table;
}

std::string EvidenceText(const EvidenceTable& table) {
  if (table.wrong == 0) return "";
  if (table.rows.empty()) {
    return absl::StrCat("no other rule predicts any of the ", table.wrong,
                        " wrong elements");
  }
  const Evidence& best = table.rows[0];
  std::string text = absl::StrCat(best.key, " explains ", best.explained,
                                  " of ", table.wrong, " wrong elements");
  if (best.contradicted == 0) {
    absl::StrAppend(&text, " and fits all ", table.right, " others");
  } else {
    absl::StrAppend(&text, ", but makes ", best.contradicted, " of ",
                    table.right, " others wrong");
  }
  // Rules that fit as well are as good.
  std::size_t next = 1;
  while (next < table.rows.size() &&
         table.rows[next].explained == best.explained &&
         table.rows[next].contradicted == best.contradicted) {
    absl::StrAppend(&text, next == 1 ? "; as well " : ", ",
                    table.rows[next].key);
    ++next;
  }
  if (next == table.rows.size()) return text + "; nothing else explains any";
  const Evidence& second = table.rows[next];
  absl::StrAppendFormat(&text, "; next best %s, %.3g %%", second.key,
                        100.0 * static_cast<double>(second.explained) /
                            static_cast<double>(table.wrong));
  if (second.explained == best.explained) {
    absl::StrAppend(&text, " with ", second.contradicted, " others wrong");
  }
  return text;
}

}  // namespace mlafuzz::oracle
