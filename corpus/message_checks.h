#ifndef MLAFUZZ_CORPUS_MESSAGE_CHECKS_H_
#define MLAFUZZ_CORPUS_MESSAGE_CHECKS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace mlafuzz {

// Parses protobuf text; InvalidArgument with line, column and the field's name
// at the first thing that the message's type does not know.
absl::Status ParseText(absl::string_view text,
                       google::protobuf::Message* message);

// InvalidArgument with the message's type, its path and the field's number if
// there is an unknown field anywhere: a case must not lose parts of its
// meaning.
absl::Status RefuseUnknownFields(const google::protobuf::Message& message);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_MESSAGE_CHECKS_H_
