#include "absl/strings/str_split.h"
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

}  // namespace

std::vector<MeaningRule> MeaningRules(Kernel reader, Rope rope) {
  std::vector<MeaningRule> rules;
  if (rope == Rope::kNone) rules.push_back({"writer.tail", "TAIL_ZERO"});
  if (reader == Kernel::kGather) {
    rules.push_back({"gather.scale", "SCALE_RAW"});
    rules.push_back({"gather.codes", "E4M3FN"});
    if (rope == Rope::kNone) {
      rules.push_back({"gather.nope_tail", "NOPE_TAIL_ZERO"});
    }
  } else {
    rules.push_back({"qk.scale_rule", "SCALE_RAW"});
    rules.push_back({"v.scale_rule", "SCALE_RAW"});
    if (rope == Rope::kNone) {
      rules.push_back({"decode.nope_tail", "NOPE_TAIL_IGNORED"});
    }
  }
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
  for (const MeaningRule& rule : MeaningRules(chain.kernel, chain.rope)) {
    SetRule(twin, rule.field, rule.meant);
  }
  return twin;
}

std::vector<MeaningRule> Deviations(const Chain& chain) {
  std::vector<MeaningRule> rules;
  for (MeaningRule& rule : MeaningRules(chain.kernel, chain.rope)) {
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
  for (const MeaningRule& rule : MeaningRules(chain.kernel, chain.rope)) {
    if (rule.field == field) meant = rule.meant;
  }
  const std::string own = RuleOf(chain, field);
  std::vector<std::string> values;
  if (own != meant) {
    values.push_back(own);
  } else {
    const google::protobuf::EnumDescriptor& type =
        *PlaceOf(field).field->enum_type();
    for (int k = 0; k < type.value_count(); ++k) {
      if (type.value(k)->number() == 0 || type.value(k)->name() == meant) {
        continue;
      }
      values.push_back(type.value(k)->name());
    }
  }
  const std::string scale = RuleOf(chain, "writer.scale");
  for (const std::string& value : values) {
    Chain wrong = Twin(chain);
    SetRule(wrong, field, value);
    if (shows(wrong)) return true;
    if (scale == "RAW") continue;
    SetRule(wrong, "writer.scale", "RAW");
    if (shows(wrong)) return true;
  }
  return false;
}

}  // namespace mlafuzz
