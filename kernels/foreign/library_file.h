#ifndef MLAFUZZ_KERNELS_FOREIGN_LIBRARY_FILE_H_
#define MLAFUZZ_KERNELS_FOREIGN_LIBRARY_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace mlafuzz {

// Which file a library was, so that one that is overwritten while it is fuzzed
// is noticed: what is found before and after belongs to different kernels.
struct LibraryFile {
  std::string path;  // absolute
  std::uint64_t size = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970
  std::uint64_t hash = 0;     // of its bytes
};

// InvalidArgument if it is no file that can be read: "no such file", "a
// folder", ...
absl::StatusOr<LibraryFile> LookAtLibrary(const std::string& path);

// "lib:/x.so: the file is another since it was loaded (16104 bytes, now
// 16200)", or empty if its bytes are the same. Reads them only if something
// else differs.
std::string ChangeOf(const LibraryFile& loaded);

// What attaches the file: "lib:/x.so", "python:/x.py".
std::string AttachedAs(const LibraryFile& file);

}  // namespace mlafuzz

#endif  // MLAFUZZ_KERNELS_FOREIGN_LIBRARY_FILE_H_
