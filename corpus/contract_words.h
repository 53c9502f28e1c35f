#ifndef MLAFUZZ_CORPUS_CONTRACT_WORDS_H_
#define MLAFUZZ_CORPUS_CONTRACT_WORDS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace mlafuzz {

// What contract.proto's comments say, read from its text.

// Of message `message`'s field `field` ("WriterContract", "tail"): the comment
// of the field, else of its enum. Empty if there is none.
std::string FieldWords(absl::string_view message, absl::string_view field);

// Of one value of that field's enum ("TAIL_ZERO").
std::string ValueWords(absl::string_view message, absl::string_view field,
                       absl::string_view value);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_CONTRACT_WORDS_H_
