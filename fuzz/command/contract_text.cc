#include "fuzz/command/contract_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "corpus/contract_words.h"
#include "corpus/contracts.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"

namespace mlafuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

std::string ValueText(const Message& message, const FieldDescriptor& field) {
  const Reflection& r = *message.GetReflection();
  std::string text;
  if (field.is_repeated()) {
    for (int k = 0; k < r.FieldSize(message, &field); ++k) {
      std::string value;
      TextFormat::PrintFieldValueToString(message, &field, k, &value);
      absl::StrAppend(&text, text.empty() ? "" : ", ", value);
    }
    return text.empty() ? "none" : text;
  }
  if (field.name() == "floor_bits") {
    return absl::StrFormat("0x%08x", r.GetUInt32(message, &field));
  }
  if (!r.HasField(message, &field)) return "unknown";
  TextFormat::PrintFieldValueToString(message, &field, -1, &text);
  return text;
}

void Append(const Message& builtin, const Message& message,
            const std::string& path, std::vector<std::string>* out) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const std::string name =
        path.empty() ? field.name() : absl::StrCat(path, ".", field.name());
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Append(builtin.GetReflection()->GetMessage(builtin, &field),
             message.GetReflection()->GetMessage(message, &field), name, out);
      continue;
    }
    const std::string ours = ValueText(builtin, field);
    const std::string theirs = ValueText(message, field);
    if (ours == theirs) continue;
    out->push_back(absl::StrCat(name, ": ", theirs, " (builtin: ", ours, ")"));
  }
}

}  // namespace

std::vector<std::string> ContractDifferences(const Contract& builtin,
                                             const Contract& contract) {
  std::vector<std::string> differences;
  Append(builtin, contract, "", &differences);
  return differences;
}

std::vector<ContractField> ContractFields(
    const Contract& contract, const std::vector<std::string>& parts) {
  std::vector<ContractField> fields;
  for (const std::string& part : parts) {
    const FieldDescriptor* of = Contract::descriptor()->FindFieldByName(part);
    const Message& rules = contract.GetReflection()->GetMessage(contract, of);
    const std::string type = of->message_type()->name();
    for (int i = 0; i < of->message_type()->field_count(); ++i) {
      const FieldDescriptor& field = *of->message_type()->field(i);
      const std::string name = absl::StrCat(part, ".", field.name());
      if (!RuleApplies(contract.layout(), name)) continue;
      const std::string value = ValueText(rules, field);
      // A list's values speak for themselves.
      const std::string words =
          field.is_repeated() ? "" : ValueWords(type, field.name(), value);
      const std::string what = FieldWords(type, field.name());
      fields.push_back(
          {name, value,
           absl::StrCat(what, !what.empty() && !words.empty() ? " Here: " : "",
                        words)});
    }
  }
  return fields;
}

}  // namespace mlafuzz
