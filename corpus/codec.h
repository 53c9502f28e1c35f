#ifndef MLAFUZZ_CORPUS_CODEC_H_
#define MLAFUZZ_CORPUS_CODEC_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corpus/case.pb.h"
#include "corpus/contract.pb.h"

namespace mlafuzz {

// Text is for people (*.txtpb), binary for engines. Both parsers refuse what
// they do not know with InvalidArgument that names line, column and field
// (text) or message and field number (binary). Neither looks at meaning; see
// BuildImage().
absl::StatusOr<Case> ParseCaseText(absl::string_view text);
absl::StatusOr<Case> ParseCaseBinary(absl::string_view bytes);
// Takes either form: text if all bytes could be text (a byte order mark is
// skipped), else binary. Says of text with an accident in it what that is.
absl::StatusOr<Case> ParseCase(absl::string_view bytes);

// With bit patterns in hex and a leading comment that says in words what the
// case does. ParseCaseText(FormatCaseText(c)) == c.
std::string FormatCaseText(const Case& c);

// Rewrites explicit plain choices (a dense stride written out, format 1,
// trailing -1 pages, ...) as absent fields, and drops what has no effect
// (corpus/without_effect.h). Changes no byte of the image.
void Canonicalise(Case& c);

// Canonical binary encoding: equal for cases that are equal after
// Canonicalise(). Fields in number order, no unknown fields.
std::string CanonicalBinary(const Case& c);

// 128 bits of the canonical encoding (XXH3), as 32 hex digits: a case's name.
std::string CaseId(const Case& c);
// 64 bits of the same hash, for counting.
std::uint64_t CaseHash(const Case& c);

// File access: NotFound, InvalidArgument and DataLoss errors name the path.
absl::StatusOr<std::string> ReadFile(const std::string& path);
// Writes a temporary file in the same folder, syncs, renames: either the old
// or the new file is there at all times. What is no file, a device or a pipe,
// stays what it is and is written to.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view bytes);
absl::StatusOr<Case> ReadCase(const std::string& path);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_CODEC_H_
