#ifndef MLAFUZZ_FUZZ_DUMP_ARRAY_FILE_H_
#define MLAFUZZ_FUZZ_DUMP_ARRAY_FILE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace mlafuzz {

// What an array that a server dumped consists of.
enum class Element { kByte, kInt32, kInt64 };
int ElementBytes(Element element);

// An array in a file: raw little-endian elements, or NumPy's .npy (versions 1
// to 3, C order), which is told by its first bytes. Read piece by piece, never
// mapped: a file that is cut meanwhile is an error, no signal.
class ArrayFile {
 public:
  // `raw`: the element of a raw file. Of a .npy file it is told by the header:
  // one byte of any kind where `raw` is kByte, else int32 or int64.
  // InvalidArgument for another, for Fortran order, and for a file that is
  // shorter or longer than its header says, with the offset.
  static absl::StatusOr<ArrayFile> Open(const std::string& path, Element raw);
  ArrayFile(ArrayFile&& other) noexcept;
  ArrayFile& operator=(ArrayFile&& other) noexcept;
  ~ArrayFile();

  const std::string& path() const { return path_; }
  Element element() const { return element_; }
  // Empty for a raw file.
  const std::vector<std::int64_t>& shape() const { return shape_; }
  // Where the elements begin in the file, and how many bytes they take.
  std::int64_t data_at() const { return data_at_; }
  std::int64_t data_bytes() const { return data_bytes_; }

  // Bytes [at, at + out.size()) of the elements. DataLoss with the offset if
  // the file ends before.
  absl::Status Read(std::int64_t at, absl::Span<std::uint8_t> out) const;

 private:
  ArrayFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  absl::Status ReadHeader(std::int64_t file_bytes, Element raw);

  std::string path_;
  int fd_ = -1;
  Element element_ = Element::kByte;
  std::vector<std::int64_t> shape_;
  std::int64_t data_at_ = 0;
  std::int64_t data_bytes_ = 0;
};

// A matrix of integers, read whole.
struct IntTable {
  std::string path;
  Element element = Element::kInt32;
  std::int64_t data_at = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> values;

  std::int64_t At(std::int64_t row, std::int64_t column) const {
    return values[row * columns + column];
  }
  // Where the entry lies in the file.
  std::int64_t ByteOf(std::int64_t row, std::int64_t column) const {
    return data_at + (row * columns + column) * ElementBytes(element);
  }
};

// `columns`: of a raw file, named by `--flag`; with no flag the file is a
// vector, one column. A .npy file has its own and may have no other.
// InvalidArgument for a raw matrix whose columns nobody said (0), and with the
// offset where the last row ends if it is no whole one.
absl::StatusOr<IntTable> ReadIntTable(const std::string& path,
                                      std::int64_t columns,
                                      const std::string& flag);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_DUMP_ARRAY_FILE_H_
