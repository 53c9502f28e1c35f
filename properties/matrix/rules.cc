#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "corpus/contracts.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "properties/matrix/chain.h"

namespace mlafuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct Place {
  const FieldDescriptor* message;
  const FieldDescriptor* field;
};

Place PlaceOf(absl::string_view name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '.');
  const FieldDescriptor* message =
      Contract::descriptor()->FindFieldByName(parts[0]);
  return {message, message->message_type()->FindFieldByName(parts[1])};
}

bool IsWriters(absl::string_view field) {
  return field.substr(0, 7) == "writer.";
}

// Makes the writer one whose rows a wrong rule of the reader would show on;
// false if it is one.
bool AskedWriter(absl::string_view field, Contract& writer) {
  const auto set = [&writer](absl::string_view rule, absl::string_view value) {
    if (!RuleApplies(writer.layout(), rule) || RuleOf(writer, rule) == value) {
      return false;
    }
    SetRule(writer, rule, value);
    return true;
  };
  if (absl::EndsWith(field, ".ue8m0_zero")) {
    return set("writer.floor", "FLOOR_NONE");
  }
  if (absl::EndsWith(field, ".ue8m0_last")) {
    return set("writer.nan", "NAN_TO_MINUS_448");
  }
  return set("writer.scale", "RAW");
}

}  // namespace

std::vector<MeaningRule> MeaningRules(const Chain& chain) {
  std::vector<MeaningRule> rules;
  const auto add = [&](const char* field, const char* meant) {
    if (RuleApplies(chain.writer.layout(), field)) {
      rules.push_back({field, meant});
    }
  };
  const bool none = chain.rope == Rope::kNone;
  if (none) add("writer.tail", "TAIL_ZERO");
  if (chain.kernel == Kernel::kGather) {
    add("gather.scale", "SCALE_RAW");
    add("gather.codes", "E4M3FN");
    add("gather.ue8m0_zero", "ZERO_IS_SUBNORMAL");
    add("gather.ue8m0_last", "LAST_IS_NAN");
    add("gather.code_loads", "LOADS_EXACT");
    add("gather.scale_rows", "SCALE_ROWS_OWN");
    if (none) add("gather.nope_tail", "NOPE_TAIL_ZERO");
    return rules;
  }
  add("qk.scale_rule", "SCALE_RAW");
  add("qk.ue8m0_zero", "ZERO_IS_SUBNORMAL");
  add("qk.ue8m0_last", "LAST_IS_NAN");
  add("v.scale_rule", "SCALE_RAW");
  add("v.ue8m0_zero", "ZERO_IS_SUBNORMAL");
  add("v.ue8m0_last", "LAST_IS_NAN");
  add("decode.rope_values", "ROPE_IN_VALUES");
  if (none) add("decode.nope_tail", "NOPE_TAIL_IGNORED");
  return rules;
}

std::string RuleOf(const Contract& contract, absl::string_view field) {
  const Place at = PlaceOf(field);
  const Message& rules =
      contract.GetReflection()->GetMessage(contract, at.message);
  return rules.GetReflection()->GetEnum(rules, at.field)->name();
}

void SetRule(Contract& contract, absl::string_view field,
             absl::string_view value) {
  const Place at = PlaceOf(field);
  Message* rules =
      contract.GetReflection()->MutableMessage(&contract, at.message);
  rules->GetReflection()->SetEnum(
      rules, at.field,
      at.field->enum_type()->FindValueByName(std::string(value)));
}

std::string RuleOf(const Chain& chain, absl::string_view field) {
  return RuleOf(IsWriters(field) ? chain.writer : chain.reader, field);
}

void SetRule(Chain& chain, absl::string_view field, absl::string_view value) {
  SetRule(IsWriters(field) ? chain.writer : chain.reader, field, value);
}

Chain Twin(const Chain& chain) {
  Chain twin = chain;
  for (const MeaningRule& rule : MeaningRules(chain)) {
    SetRule(twin, rule.field, rule.meant);
  }
  return twin;
}

std::vector<MeaningRule> Deviations(const Chain& chain) {
  std::vector<MeaningRule> rules;
  for (MeaningRule& rule : MeaningRules(chain)) {
    if (RuleOf(chain, rule.field) != rule.meant) {
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

bool ShowsRule(const Chain& chain, absl::string_view field,
               const CaseImage& image) {
  const auto shows = [&image](const Chain& wrong) {
    return Apart(wrong, Twin(wrong), image).has_value();
  };
  if (IsWriters(field)) {  // writer.tail
    Chain wrong = Twin(chain);
    SetRule(wrong, "writer.tail", "TAIL_UNCHANGED");
    if (chain.kernel == Kernel::kGather) {
      SetRule(wrong, "gather.nope_tail", "NOPE_TAIL_VERBATIM");
    } else {
      SetRule(wrong, "decode.nope_tail", "NOPE_TAIL_AS_ROPE");
    }
    return shows(wrong);
  }
  std::string meant;
  for (const MeaningRule& rule : MeaningRules(chain)) {
    if (rule.field == field) meant = rule.meant;
  }
  const std::string own = RuleOf(chain, field);
  std::vector<std::string> values;
  if (own != meant) values.push_back(own);
  // Some rules leave a power of two as it is, and UE8M0 has no other scales: of
  // such a rule it is enough that another one would have shown.
  if (own == meant || (absl::StrContains(field, ".scale") &&
                       !RuleApplies(chain.writer.layout(), "writer.scale"))) {
    const google::protobuf::EnumDescriptor& type =
        *PlaceOf(field).field->enum_type();
    for (int k = 0; k < type.value_count(); ++k) {
      const std::string& value = type.value(k)->name();
      if (type.value(k)->number() != 0 && value != meant && value != own) {
        values.push_back(value);
      }
    }
  }
  for (const std::string& value : values) {
    Chain wrong = Twin(chain);
    SetRule(wrong, field, value);
    if (shows(wrong)) return true;
    if (AskedWriter(field, wrong.writer) && shows(wrong)) return true;
  }
  return false;
}

}  // namespace mlafuzz
