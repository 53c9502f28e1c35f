#include "corpus/message_checks.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/unknown_field_set.h"

namespace mlafuzz {
namespace {

// Keeps the first error; the others follow from it.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!text_.empty()) return;
    text_ = line < 0 ? message
                     : absl::StrCat("line ", line + 1, ", column ", column + 1,
                                    ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

absl::Status Walk(const google::protobuf::Message& message,
                  const std::string& path) {
  const google::protobuf::Reflection* reflection = message.GetReflection();
  const google::protobuf::UnknownFieldSet& unknown =
      reflection->GetUnknownFields(message);
  if (unknown.field_count() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown field number ", unknown.field(0).number(), " in ",
                     message.GetDescriptor()->full_name(),
                     path.empty() ? "" : absl::StrCat(" at ", path)));
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->cpp_type() !=
        google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      continue;
    }
    const std::string here =
        path.empty() ? field->name() : absl::StrCat(path, ".", field->name());
    if (!field->is_repeated()) {
      absl::Status s = Walk(reflection->GetMessage(message, field), here);
      if (!s.ok()) return s;
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      absl::Status s = Walk(reflection->GetRepeatedMessage(message, field, i),
                            absl::StrCat(here, "[", i, "]"));
      if (!s.ok()) return s;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseText(absl::string_view text,
                       google::protobuf::Message* message) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  google::protobuf::io::ArrayInputStream stream(text.data(),
                                                static_cast<int>(text.size()));
  if (!parser.Parse(&stream, message)) {
    return absl::InvalidArgumentError(error.text().empty() ? "not protobuf text"
                                                           : error.text());
  }
  return absl::OkStatus();
}

absl::Status RefuseUnknownFields(const google::protobuf::Message& message) {
  return Walk(message, "");
}

}  // namespace mlafuzz
