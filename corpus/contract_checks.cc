#include "corpus/contract_checks.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "google/protobuf/descriptor.h"

namespace mlafuzz {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Wider rows of indices, and longer blocks, than any kernel has.
constexpr std::uint32_t kMostKeys = 65536;

absl::Status Bad(const std::string& field, absl::string_view value,
                 absl::string_view legal) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " ", legal));
}

std::string Names(const EnumDescriptor& type) {
  std::string names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() == 0) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", type.value(i)->name());
  }
  return names;
}

absl::Status CheckEnum(const std::string& name, const FieldDescriptor& field,
                       int value) {
  const EnumDescriptor& type = *field.enum_type();
  // 0 means "not said", which is nothing that a list can hold.
  if (type.FindValueByNumber(value) != nullptr &&
      !(value == 0 && field.is_repeated())) {
    return absl::OkStatus();
  }
  const auto* named = type.FindValueByNumber(value);
  return Bad(name, named != nullptr ? named->name() : absl::StrCat(value),
             absl::StrCat("is none of ", Names(type)));
}

absl::Status CheckUInt32(const std::string& name, const FieldDescriptor& field,
                         std::uint32_t value) {
  const std::string number = absl::StrCat(value);
  if (field.name() == "pe_dims") {
    // A row of the layout has 64 rope values, or a call gives none.
    if (value != 0 && value != 64) {
      return Bad(name, number, "is none of 0, 64");
    }
  } else if (field.name() == "floor_bits") {
    const float floor = std::bit_cast<float>(value);
    if (std::signbit(floor) || !std::isfinite(floor)) {
      return Bad(name, absl::StrFormat("0x%08x (%g)", value, floor),
                 "is no floor; give the bits of a positive finite fp32, "
                 "0x00000001 to 0x7f7fffff");
    }
  } else if (field.name() == "accumulator_bits") {
    if (value > 64) {
      return Bad(name, number, "is out of range; 1 to 64, or 0: unknown");
    }
  } else if (value > kMostKeys) {
    // width_multiple, block, blocks_per_split
    return Bad(
        name, number,
        absl::StrCat("is out of range; 1 to ", kMostKeys, ", or 0: not said"));
  }
  return absl::OkStatus();
}

absl::Status CheckField(const Message& message, const FieldDescriptor& field,
                        const std::string& name);

absl::Status Walk(const Message& message, const std::string& path) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const std::string name =
        path.empty() ? field.name() : absl::StrCat(path, ".", field.name());
    if (absl::Status s = CheckField(message, field, name); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status CheckField(const Message& message, const FieldDescriptor& field,
                        const std::string& name) {
  const Reflection& r = *message.GetReflection();
  if (field.is_repeated()) {
    const bool is_enum = field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM;
    std::set<std::int64_t> seen;
    for (int k = 0; k < r.FieldSize(message, &field); ++k) {
      const std::int64_t value =
          is_enum ? std::int64_t{r.GetRepeatedEnumValue(message, &field, k)}
                  : std::int64_t{r.GetRepeatedUInt32(message, &field, k)};
      const absl::Status s =
          is_enum ? CheckEnum(name, field, static_cast<int>(value))
                  : CheckUInt32(name, field, static_cast<std::uint32_t>(value));
      if (!s.ok()) return s;
      if (!seen.insert(value).second) {
        return Bad(name,
                   is_enum ? field.enum_type()
                                 ->FindValueByNumber(static_cast<int>(value))
                                 ->name()
                           : absl::StrCat(value),
                   "stands there twice; once is enough");
      }
    }
    return absl::OkStatus();
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return r.HasField(message, &field)
                 ? Walk(r.GetMessage(message, &field), name)
                 : absl::OkStatus();
    case FieldDescriptor::CPPTYPE_ENUM:
      return CheckEnum(name, field, r.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return CheckUInt32(name, field, r.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      // exp2_relative_error
      const double value = r.GetDouble(message, &field);
      if (!(value >= 0 && value < 1)) {
        return Bad(name, absl::StrCat(value),
                   "is out of range; above 0 and below 1, or 0: unknown");
      }
      return absl::OkStatus();
    }
    default:
      return absl::OkStatus();
  }
}

}  // namespace

absl::Status CheckContract(const Contract& declared) {
  if (absl::Status s = Walk(declared, ""); !s.ok()) return s;
  const WriterContract& writer = declared.writer();
  for (const int input : writer.inputs()) {
    if (input == BF16 || input == F16 || input == F32) continue;
    return Bad(
        "writer.inputs", DType_Name(input),
        "is none of BF16, F16, F32, the inputs of which a rule is known");
  }
  if (writer.floor() == WriterContract::FLOOR_NONE &&
      writer.floor_bits() != 0) {
    return Bad("writer.floor_bits",
               absl::StrFormat("0x%08x", writer.floor_bits()),
               "contradicts floor: FLOOR_NONE; leave one of them out");
  }
  const Arithmetic& arithmetic = declared.arithmetic();
  // The significand of fp32.
  if (arithmetic.accumulator() == Arithmetic::IEEE_FP32 &&
      arithmetic.accumulator_bits() != 0 &&
      arithmetic.accumulator_bits() != 24) {
    return Bad("arithmetic.accumulator_bits",
               absl::StrCat(arithmetic.accumulator_bits()),
               "contradicts accumulator: IEEE_FP32, which has 24; leave one of "
               "them out");
  }
  return absl::OkStatus();
}

}  // namespace mlafuzz
