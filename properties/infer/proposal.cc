#include "properties/infer/proposal.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"

namespace mlafuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::util::MessageDifferencer;

// Clears what is as in `builtin`, but for the host checks.
void KeepDifferences(const Message& builtin, Message* rules) {
  const Reflection* reflection = rules->GetReflection();
  for (int i = 0; i < rules->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = rules->GetDescriptor()->field(i);
    if (field->name() == "host_checks") continue;
    MessageDifferencer differencer;
    if (differencer.CompareWithFields(builtin, *rules, {field}, {field})) {
      reflection->ClearField(rules, field);
    }
  }
}

}  // namespace

void AddToProposal(const Contract& from, Kernel kernel, Contract* proposal) {
  const Contract builtin = BuiltinContract();
  std::vector<std::string> messages = {KernelName(kernel)};
  if (kernel == Kernel::kDecode) messages = {"qk", "v", "decode"};
  for (const std::string& name : messages) {
    const FieldDescriptor* field =
        Contract::descriptor()->FindFieldByName(name);
    Message* rules = proposal->GetReflection()->MutableMessage(proposal, field);
    rules->CopyFrom(from.GetReflection()->GetMessage(from, field));
    if (proposal->writer().floor() == WriterContract::FLOOR_NONE) {
      proposal->mutable_writer()->clear_floor_bits();
    }
    KeepDifferences(builtin.GetReflection()->GetMessage(builtin, field), rules);
    if (rules->ByteSizeLong() == 0) {
      proposal->GetReflection()->ClearField(proposal, field);
    }
  }
  if (kernel == Kernel::kDecode) {
    *proposal->mutable_arithmetic() = from.arithmetic();
  }
}

std::string ProposalText(const TargetDescription& head,
                         const Contract& proposal) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string first;
  printer.PrintToString(head, &first);
  printer.SetInitialIndentLevel(1);
  std::string text;
  printer.PrintToString(proposal, &text);
  return absl::StrCat(first, "contract {\n", text, "}\n");
}

}  // namespace mlafuzz
