#include "fuzz/dump/array_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace mlafuzz {
namespace {

constexpr absl::string_view kNpyMagic = "\x93NUMPY";
// A header is a line of a few words; NumPy itself refuses longer ones.
constexpr std::int64_t kMaxHeader = 10000;
// A block table of a thousand requests of a million tokens is far below it.
constexpr std::int64_t kMaxTableBytes = std::int64_t{1} << 28;

absl::Status Errno(absl::string_view doing, const std::string& path) {
  const int error = errno;
  const std::string text =
      absl::StrCat(path, ": cannot ", doing, ": ", std::strerror(error));
  if (error == ENOENT) return absl::NotFoundError(text);
  return absl::UnavailableError(text);
}

// What stands behind 'key': in the header's dictionary; empty if it is not
// there.
absl::string_view After(absl::string_view header, absl::string_view key) {
  const std::string quoted = absl::StrCat("'", key, "':");
  const std::size_t at = header.find(quoted);
  if (at == absl::string_view::npos) return "";
  return absl::StripLeadingAsciiWhitespace(header.substr(at + quoted.size()));
}

// "(4, 64, 656)" or "(7,)".
bool ParseShape(absl::string_view text, std::vector<std::int64_t>* shape) {
  if (!absl::ConsumePrefix(&text, "(")) return false;
  const std::size_t end = text.find(')');
  if (end == absl::string_view::npos) return false;
  for (absl::string_view word : absl::StrSplit(text.substr(0, end), ',')) {
    word = absl::StripAsciiWhitespace(word);
    if (word.empty()) continue;
    std::int64_t extent = 0;
    if (!absl::SimpleAtoi(word, &extent) || extent < 0) return false;
    shape->push_back(extent);
  }
  return true;
}

}  // namespace

int ElementBytes(Element element) {
  switch (element) {
    case Element::kInt32:
      return 4;
    case Element::kInt64:
      return 8;
    case Element::kByte:
      break;
  }
  return 1;
}

absl::StatusOr<ArrayFile> ArrayFile::Open(const std::string& path,
                                          Element raw) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Errno("open", path);
  ArrayFile file(path, fd);
  struct stat info = {};
  if (fstat(fd, &info) != 0) return Errno("look at", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is no regular file"));
  }
  if (absl::Status s = file.ReadHeader(info.st_size, raw); !s.ok()) return s;
  return file;
}

ArrayFile::ArrayFile(ArrayFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      element_(other.element_),
      shape_(std::move(other.shape_)),
      data_at_(other.data_at_),
      data_bytes_(other.data_bytes_) {}

ArrayFile& ArrayFile::operator=(ArrayFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  element_ = other.element_;
  std::swap(shape_, other.shape_);
  data_at_ = other.data_at_;
  data_bytes_ = other.data_bytes_;
  return *this;
}

ArrayFile::~ArrayFile() {
  if (fd_ >= 0) close(fd_);
}

absl::Status ArrayFile::ReadHeader(std::int64_t file_bytes, Element raw) {
  const auto bad = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": ", what));
  };
  element_ = raw;
  data_bytes_ = file_bytes;
  // Magic, two bytes of version, the header's length in two or four.
  std::uint8_t front[12] = {};
  const std::int64_t front_bytes = std::min<std::int64_t>(file_bytes, 12);
  if (absl::Status s = Read(0, {front, static_cast<std::size_t>(front_bytes)});
      !s.ok()) {
    return s;
  }
  const auto seen = static_cast<std::size_t>(
      std::min<std::int64_t>(front_bytes, kNpyMagic.size()));
  if (seen == 0 || std::memcmp(front, kNpyMagic.data(), seen) != 0) {
    return absl::OkStatus();
  }
  if (front_bytes < 12) {
    // Two bytes of a raw table may be those of the magic.
    if (seen < kNpyMagic.size()) return absl::OkStatus();
    return bad(
        absl::StrCat("begins as .npy does and ends within its header, "
                     "after ",
                     file_bytes, " bytes: dump it again"));
  }
  const int version = front[6];
  if (version < 1 || version > 3) {
    return bad(absl::StrCat(".npy version ", version,
                            " is not known; 1, 2 and 3 are"));
  }
  std::int64_t length = front[8] | front[9] << 8;
  if (version > 1)
    length |= std::int64_t{front[10]} << 16 | std::int64_t{front[11]} << 24;
  const std::int64_t begin = version == 1 ? 10 : 12;
  if (length > kMaxHeader || begin + length > file_bytes) {
    return bad(absl::StrCat("its .npy header of ", length,
                            " bytes does not end within the file's ",
                            file_bytes, " bytes: dump it again"));
  }
  std::string header(static_cast<std::size_t>(length), '\0');
  if (absl::Status s =
          Read(begin,
               {reinterpret_cast<std::uint8_t*>(header.data()), header.size()});
      !s.ok()) {
    return s;
  }
  for (const char* key : {"descr", "fortran_order", "shape"}) {
    if (!After(header, key).empty()) continue;
    return bad(
        absl::StrCat("its .npy header is cut short or damaged, it has "
                     "no ",
                     key, ": dump it again"));
  }
  const absl::string_view descr = After(header, "descr");
  if (!absl::StartsWith(After(header, "fortran_order"), "False")) {
    return bad("is not in C order; save numpy.ascontiguousarray(x)");
  }
  if (!ParseShape(After(header, "shape"), &shape_)) {
    return bad(
        "the shape in its .npy header is cut short or damaged: dump it again");
  }
  const std::string type(descr.substr(0, descr.find_first_of(",}")));
  if (raw == Element::kByte) {
    // Any type of one byte: '|u1', '|i1', '|V1', '|b1'.
    if (!absl::StrContains(type, "1'") || type.size() != 5) {
      return bad(absl::StrCat("has elements of ", type,
                              ", not bytes; save x.view(torch.uint8)"));
    }
  } else if (type == "'<i4'") {
    element_ = Element::kInt32;
  } else if (type == "'<i8'") {
    element_ = Element::kInt64;
  } else {
    return bad(absl::StrCat("has elements of ", type,
                            ", not int32 or int64; save x.astype('int32')"));
  }
  data_at_ = begin + length;
  data_bytes_ = file_bytes - data_at_;
  __int128 wanted = ElementBytes(element_);
  for (const std::int64_t extent : shape_) {
    wanted *= extent;
    if (wanted > (std::int64_t{1} << 62))
      return bad("its .npy shape is too large: dump it again");
  }
  if (wanted != data_bytes_) {
    return bad(
        absl::StrCat("its .npy header says ", static_cast<std::int64_t>(wanted),
                     " bytes of elements, up to offset ",
                     data_at_ + static_cast<std::int64_t>(wanted),
                     "; the file ends at ", file_bytes, ": dump it again"));
  }
  return absl::OkStatus();
}

absl::Status ArrayFile::Read(std::int64_t at,
                             absl::Span<std::uint8_t> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::int64_t offset = data_at_ + at + static_cast<std::int64_t>(done);
    const ssize_t n = pread(fd_, out.data() + done, out.size() - done, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Errno(absl::StrCat("read at offset ", offset), path_);
    if (n == 0) {
      return absl::DataLossError(
          absl::StrCat(path_, ": ends at offset ", offset,
                       " now; it was cut while it was read"));
    }
    done += static_cast<std::size_t>(n);
  }
  return absl::OkStatus();
}

absl::StatusOr<IntTable> ReadIntTable(const std::string& path,
                                      std::int64_t columns,
                                      const std::string& flag) {
  const auto file = ArrayFile::Open(path, Element::kInt32);
  if (!file.ok()) return file.status();
  const auto bad = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
  };
  if (file->data_bytes() > kMaxTableBytes) {
    return bad(absl::StrCat("is larger than ", kMaxTableBytes >> 20,
                            " MiB; save fewer rows"));
  }
  IntTable table;
  table.path = path;
  table.element = file->element();
  table.data_at = file->data_at();
  const std::vector<std::int64_t>& shape = file->shape();
  if (!shape.empty()) {
    if (shape.size() > 2) {
      return bad(absl::StrCat("has ", shape.size(),
                              " dimensions, not 1 or 2; save x.reshape(rows, "
                              "columns)"));
    }
    const std::int64_t own = shape.size() == 2 ? shape[1] : 1;
    if (columns != 0 && columns != own) {
      return bad(
          absl::StrCat("has ", own, " columns, --", flag, " says ", columns));
    }
    columns = own;
  } else if (flag.empty()) {
    columns = 1;
  } else if (columns == 0) {
    return bad(
        absl::StrCat("is raw and says no shape: say how many columns it "
                     "has with --",
                     flag, "=N, or save it as .npy"));
  }
  const int size = ElementBytes(table.element);
  const std::int64_t row_bytes = columns * size;
  if (row_bytes == 0) return bad("has no columns: dump it again");
  table.rows = file->data_bytes() / row_bytes;
  table.columns = columns;
  if (const std::int64_t left = file->data_bytes() % row_bytes; left != 0) {
    return bad(absl::StrCat(
        "is torn: ", table.rows, " rows of ", columns,
        " entries end at offset ", table.data_at + table.rows * row_bytes, ", ",
        left, " bytes follow; dump it again",
        flag.empty() ? "" : absl::StrCat(", or correct --", flag)));
  }
  if (table.rows == 0) return bad("is empty: dump it again");
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(file->data_bytes()));
  if (absl::Status s = file->Read(0, absl::MakeSpan(bytes)); !s.ok()) return s;
  table.values.resize(static_cast<std::size_t>(table.rows * columns));
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    if (size == 4) {
      std::int32_t value = 0;
      std::memcpy(&value, bytes.data() + 4 * i, 4);
      table.values[i] = value;
    } else {
      std::memcpy(&table.values[i], bytes.data() + 8 * i, 8);
    }
  }
  return table;
}

}  // namespace mlafuzz
