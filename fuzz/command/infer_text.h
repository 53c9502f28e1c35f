#ifndef MLAFUZZ_FUZZ_COMMAND_INFER_TEXT_H_
#define MLAFUZZ_FUZZ_COMMAND_INFER_TEXT_H_

#include <string>
#include <vector>

#include "properties/infer/infer.pb.h"

namespace mlafuzz {

// Tables of evidence, what is wrong, and a description to paste.
std::string InferText(const InferResult& result);

// "lib:x.so declares writer.tail TAIL_ZERO, behaves like TAIL_UNCHANGED": a
// sentence for each declaration that is contradicted.
std::vector<std::string> Contradictions(const InferResult& result);

// Whether an answer of any kernel was judged: if none was, nothing is known of
// it, and nothing contradicts its description.
bool AnyJudged(const InferResult& result);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_INFER_TEXT_H_
