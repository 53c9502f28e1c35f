#ifndef MLAFUZZ_FUZZ_STATE_ZIP_H_
#define MLAFUZZ_FUZZ_STATE_ZIP_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace mlafuzz {

// A zip archive of files (name, bytes) in this order, stored uncompressed and
// with the date 1980-01-01, so that equal files make equal archives. After
// PKWARE's APPNOTE 6.3, 4.3; no zip64: InvalidArgument above 65535 files or 4
// GiB.
absl::StatusOr<std::string> Zip(
    const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_STATE_ZIP_H_
