#include "properties/infer/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "oracle/decode/decode.h"
#include "oracle/decode/observed_rows.h"

namespace mlafuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;

constexpr int kRounds = 4;
constexpr std::uint32_t kBlocks[] = {16, 32, 64, 128};
constexpr std::uint32_t kBlocksPerSplit[] = {1, 2, 4, 8, 16};

bool Varies(const FieldDescriptor& field) {
  return field.name() != "accumulator" && field.name() != "accumulator_bits" &&
         field.name() != "exp2_relative_error";
}

std::string ValueText(const Arithmetic& arithmetic,
                      const FieldDescriptor& field) {
  const Reflection* reflection = arithmetic.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection->GetEnum(arithmetic, &field)->name();
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->GetBool(arithmetic, &field) ? "true" : "unknown";
    default: {
      const std::uint32_t number = reflection->GetUInt32(arithmetic, &field);
      return number == 0 ? "unknown" : absl::StrCat(number);
    }
  }
}

// The contracts in which `field` is another of its values.
void AppendOthers(const Contract& base, const FieldDescriptor& field,
                  std::vector<Neighbour>* out) {
  const std::string declared = ValueText(base.arithmetic(), field);
  const auto add = [&](const auto& set) {
    Neighbour n{base, absl::StrCat("arithmetic.", field.name()), declared, ""};
    Arithmetic& a = *n.contract.mutable_arithmetic();
    set(a.GetReflection(), &a);
    n.changed = ValueText(a, field);
    if (n.changed != declared) out->push_back(std::move(n));
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      for (int k = 0; k < field.enum_type()->value_count(); ++k) {
        const int value = field.enum_type()->value(k)->number();
        if (value == 0) continue;
        add([&](const Reflection* r, Arithmetic* a) {
          r->SetEnumValue(a, &field, value);
        });
      }
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      add([&](const Reflection* r, Arithmetic* a) {
        r->SetBool(a, &field, true);
      });
      break;
    default:
      const bool block = field.name() == "block";
      const absl::Span<const std::uint32_t> sizes =
          block ? absl::MakeConstSpan(kBlocks)
                : absl::MakeConstSpan(kBlocksPerSplit);
      for (const std::uint32_t size : sizes) {
        add([&](const Reflection* r, Arithmetic* a) {
          r->SetUInt32(a, &field, size);
        });
      }
  }
}

// A value of one field with what it foretells.
struct Rated {
  std::string value;
  Contract contract;
  Foretold foretold;
};

bool Better(const Foretold& a, const Foretold& b) {
  if (a.wrong != b.wrong) return a.wrong < b.wrong;
  return a.exact > b.exact;
}

// Whether a field should change to `other`. A named value that nothing speaks
// against stays: a few words more can be chance.
bool ShouldChange(const Foretold& now, const Foretold& other, bool named) {
  if (named && now.wrong <= other.wrong) return false;
  return Better(other, now);
}

bool IsNamed(absl::string_view value) {
  return value != "unknown" && !absl::EndsWith(value, "_UNKNOWN");
}

// All values of a field: that of `contract` first.
std::vector<Rated> Rate(const Contract& contract, const Foretold& foretold,
                        const FieldDescriptor& field,
                        absl::Span<const Probe> probes) {
  std::vector<Rated> rated = {
      {ValueText(contract.arithmetic(), field), contract, foretold}};
  std::vector<Neighbour> others;
  AppendOthers(contract, field, &others);
  for (Neighbour& n : others) {
    const Foretold of = Foretell(n.contract, probes);
    rated.push_back({std::move(n.changed), std::move(n.contract), of});
  }
  return rated;
}

std::vector<const FieldDescriptor*> VariedFields() {
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < Arithmetic::descriptor()->field_count(); ++i) {
    const FieldDescriptor* field = Arithmetic::descriptor()->field(i);
    if (Varies(*field)) fields.push_back(field);
  }
  return fields;
}

bool IsNamedIn(const Contract& contract, const FieldDescriptor& field) {
  return IsNamed(ValueText(contract.arithmetic(), field));
}

// A contract with what it foretells.
struct Fitted {
  Contract contract;
  Foretold foretold;
};

// One field after the other, each at its best, until none changes.
Fitted Ascend(const Contract& declared, const Contract& start,
              absl::Span<const Probe> probes) {
  Fitted fitted{start, Foretell(start, probes)};
  bool changed = true;
  for (int round = 0; changed && round < kRounds; ++round) {
    changed = false;
    for (const FieldDescriptor* field : VariedFields()) {
      const bool named = IsNamedIn(declared, *field);
      std::vector<Rated> rated =
          Rate(fitted.contract, fitted.foretold, *field, probes);
      const auto best = std::min_element(
          rated.begin(), rated.end(), [](const Rated& a, const Rated& b) {
            return Better(a.foretold, b.foretold);
          });
      if (!ShouldChange(fitted.foretold, best->foretold, named)) continue;
      fitted = {std::move(best->contract), best->foretold};
      changed = true;
    }
  }
  return fitted;
}

// `contract` with builtin's value for every field that it leaves unknown: a
// second start, because some fields show only where others are known.
Contract Filled(const Contract& contract) {
  const Contract builtin = BuiltinContract();
  Contract filled = contract;
  for (const FieldDescriptor* field : VariedFields()) {
    if (IsNamedIn(contract, *field)) continue;
    std::vector<Neighbour> others;
    AppendOthers(filled, *field, &others);
    for (const Neighbour& n : others) {
      if (n.changed == ValueText(builtin.arithmetic(), *field)) {
        filled = n.contract;
      }
    }
  }
  return filled;
}

// Takes back what foretells no word more than "unknown" does.
void Unsay(const Contract& declared, absl::Span<const Probe> probes,
           Fitted* fitted) {
  for (const FieldDescriptor* field : VariedFields()) {
    if (IsNamedIn(declared, *field) || !IsNamedIn(fitted->contract, *field)) {
      continue;
    }
    Fitted without = *fitted;
    Arithmetic& arithmetic = *without.contract.mutable_arithmetic();
    arithmetic.GetReflection()->ClearField(&arithmetic, field);
    without.foretold = Foretell(without.contract, probes);
    if (!Better(fitted->foretold, without.foretold)) {
      *fitted = std::move(without);
    }
  }
}

// Gives a declared value back to each field for which another one makes nothing
// right that is wrong under it.
void KeepDeclared(const Contract& declared, absl::Span<const Probe> probes,
                  Fitted* fitted) {
  for (const FieldDescriptor* field : VariedFields()) {
    const std::string said = ValueText(declared.arithmetic(), *field);
    if (!IsNamed(said)) continue;
    std::vector<Neighbour> others;
    AppendOthers(fitted->contract, *field, &others);
    for (Neighbour& n : others) {
      if (n.changed != said) continue;
      Foretold foretold = Foretell(n.contract, probes);
      if (!ShouldChange(foretold, fitted->foretold, /*named=*/true)) {
        *fitted = {std::move(n.contract), foretold};
      }
      break;
    }
  }
}

InferredField Report(const Contract& declared, const FieldDescriptor& field,
                     const std::vector<Rated>& rated) {
  InferredField report;
  report.set_field(absl::StrCat("arithmetic.", field.name()));
  report.set_declared(ValueText(declared.arithmetic(), field));
  const Rated& best = rated.front();
  report.set_inferred(best.value);
  report.set_probes(static_cast<std::uint32_t>(best.foretold.words));
  report.set_explained(static_cast<std::uint32_t>(best.foretold.exact));
  bool any = false;
  Foretold next;
  for (std::size_t i = 1; i < rated.size(); ++i) {
    if (!Better(best.foretold, rated[i].foretold)) {
      report.add_equal(rated[i].value);
    }
    if (!any || Better(rated[i].foretold, next)) {
      any = true;
      next = rated[i].foretold;
      report.set_next_value(rated[i].value);
      report.set_next_best(static_cast<std::uint32_t>(next.exact));
    }
  }
  if (report.inferred() != report.declared()) {
    report.set_state(IsNamed(report.declared()) ? InferredField::DIFFERS
                                                : InferredField::SUGGESTED);
  } else {
    report.set_state(!any || best.foretold.wrong > 0 || report.equal_size() > 0
                         ? InferredField::UNDECIDED
                         : InferredField::CONFIRMED);
  }
  return report;
}

}  // namespace

std::vector<Neighbour> ArithmeticNeighbours(const Contract& base) {
  std::vector<Neighbour> out;
  for (int i = 0; i < Arithmetic::descriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *Arithmetic::descriptor()->field(i);
    if (Varies(field)) AppendOthers(base, field, &out);
  }
  return out;
}

Foretold Foretell(const Contract& contract, absl::Span<const Probe> probes) {
  Foretold foretold;
  for (const Probe& probe : probes) {
    if (probe.observation.steps.empty() ||
        probe.observation.steps[0].status != CallStatus::kOk) {
      continue;
    }
    const oracle::ObservedRows rows(probe.image.steps[0],
                                    probe.observation.steps[0]);
    if (!rows.well_formed()) continue;
    DecodeExpectation expected =
        ExpectDecode(contract, probe.image, 0, probe.image.pool.bytes);
    for (std::int64_t row = 0; row < expected.rows(); ++row) {
      foretold.wrong += rows.LseMatches(expected, row) ? 0 : 1;
      for (int c = 0; c < kDecodeColumns; ++c) {
        const std::int64_t i = row * kDecodeColumns + c;
        const std::uint16_t bits = rows.Out(row, c);
        ++foretold.words;
        foretold.wrong += DecodeOutMatches(expected, i, bits) ? 0 : 1;
        double& bound = expected.out_bound[static_cast<std::size_t>(i)];
        // Anything is right: nothing is foretold.
        if (std::isinf(bound)) continue;
        // Within 0 of the value: its own bf16.
        bound = 0;
        foretold.exact += DecodeOutMatches(expected, i, bits) ? 1 : 0;
      }
    }
  }
  return foretold;
}

std::vector<InferredField> FitArithmetic(const Contract& declared,
                                         absl::Span<const Probe> probes,
                                         Contract* contract) {
  Fitted fitted = Ascend(declared, *contract, probes);
  const Contract filled = Filled(*contract);
  if (filled.SerializeAsString() != contract->SerializeAsString()) {
    Fitted other = Ascend(declared, filled, probes);
    if (Better(other.foretold, fitted.foretold)) fitted = std::move(other);
  }
  // The search that came before may have changed what nothing here speaks
  // against.
  KeepDeclared(declared, probes, &fitted);
  if (fitted.foretold.wrong > 0) {
    // No arithmetic makes it right, so what is wrong is something else, which
    // says nothing of arithmetic.
    *fitted.contract.mutable_arithmetic() = declared.arithmetic();
    fitted.foretold = Foretell(fitted.contract, probes);
  } else {
    Unsay(declared, probes, &fitted);
  }
  *contract = fitted.contract;
  std::vector<InferredField> reports;
  for (const FieldDescriptor* field : VariedFields()) {
    reports.push_back(
        Report(declared, *field,
               Rate(fitted.contract, fitted.foretold, *field, probes)));
  }
  return reports;
}

}  // namespace mlafuzz
