#include "properties/fused/random_rules.h"

#include <cstdint>

#include "google/protobuf/descriptor.h"

namespace mlafuzz {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;

std::string NameOf(const FieldDescriptor& field,
                   const EnumValueDescriptor& value) {
  return std::string(field.name()) + "=" + std::string(value.name());
}

// Fields that are one enum. Value 0 is UNSPECIFIED, which means another.
std::vector<const FieldDescriptor*> EnumFields(
    const google::protobuf::Message& rules) {
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < rules.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = rules.GetDescriptor()->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM &&
        !field->is_repeated()) {
      fields.push_back(field);
    }
  }
  return fields;
}

}  // namespace

std::vector<std::string> DrawRules(Choices& choices,
                                   google::protobuf::Message& rules) {
  std::vector<std::string> drawn;
  for (const FieldDescriptor* const field : EnumFields(rules)) {
    const int count = field->enum_type()->value_count() - 1;
    const EnumValueDescriptor& value = *field->enum_type()->value(
        1 + static_cast<int>(choices.Below(static_cast<std::uint32_t>(count))));
    rules.GetReflection()->SetEnum(&rules, field, &value);
    drawn.push_back(NameOf(*field, value));
  }
  return drawn;
}

std::vector<std::string> AllRules(const google::protobuf::Message& rules) {
  std::vector<std::string> all;
  for (const FieldDescriptor* const field : EnumFields(rules)) {
    for (int i = 1; i < field->enum_type()->value_count(); ++i) {
      all.push_back(NameOf(*field, *field->enum_type()->value(i)));
    }
  }
  return all;
}

}  // namespace mlafuzz
