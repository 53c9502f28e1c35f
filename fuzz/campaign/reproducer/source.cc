#include "fuzz/campaign/reproducer/source.h"

#include <algorithm>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/campaign/reproducer/byte_pieces.h"
#include "fuzz/campaign/reproducer/kernel_source.h"
#include "fuzz/campaign/reproducer/python_source.h"
#include "kernels/target.h"

namespace mlafuzz {
namespace {

constexpr char kDlpack[] =
#include "fuzz/campaign/reproducer/dlpack_subset.inc"
    ;
constexpr char kInterface[] =
#include "fuzz/campaign/reproducer/target_interface.inc"
    ;
constexpr char kBody[] =
#include "fuzz/campaign/reproducer/body.inc"
    ;

// A comment of any bytes: a backslash at a line's end would join the next.
std::string Comment(absl::string_view text) {
  std::string out;
  for (const absl::string_view line : absl::StrSplit(ShownText(text), '\n')) {
    absl::StrAppend(&out, "// ", line, absl::EndsWith(line, "\\") ? " ." : "",
                    "\n");
  }
  return out;
}

const char* TypeCode(const std::string& dtype) {
  if (dtype == "bf16") return "kDLBfloat";
  if (dtype == "f16" || dtype == "f32") return "kDLFloat";
  return dtype == "u8" ? "kDLUInt" : "kDLInt";
}

int Bits(const std::string& dtype) {
  if (dtype == "u8") return 8;
  if (dtype == "i64") return 64;
  return dtype == "bf16" || dtype == "f16" ? 16 : 32;
}

// Tables of one buffer and the line that names them.
class BufferText {
 public:
  BufferText(int number, const Evidence& evidence)
      : buffer_(evidence.buffers(number)),
        strides_(CallStrides(evidence, buffer_)),
        suffix_(absl::StrCat(number)) {}

  void Run(std::string* tables, std::string* lines, std::size_t* bytes) {
    const bool bounded = !buffer_.lowest().empty();
    const std::string& before = buffer_.before();
    const std::string& expected =
        bounded ? buffer_.lowest() : buffer_.expected();
    AddPieces("kBefore", FoldBytes(before), tables, bytes);
    std::vector<BytePatch> patches, highest;
    if (!expected.empty()) patches = DifferenceOf(before, expected);
    if (bounded) highest = DifferenceOf(expected, buffer_.highest());
    const std::size_t n = AddPatches("kExpected", patches, tables, bytes);
    const std::size_t n_highest =
        AddPatches("kHighest", highest, tables, bytes);
    if (buffer_.open_size() != 0) {
      absl::StrAppend(tables, "static const Range kOpen", suffix_, "[] = {");
      for (const Evidence::Range& range : buffer_.open()) {
        absl::StrAppend(tables, "{", range.begin(), ", ", range.end(), "}, ");
      }
      absl::StrAppend(tables, "};\n");
    }
    absl::StrAppend(
        lines, "    {\"", buffer_.name(), "\", ", TypeCode(buffer_.dtype()),
        ", ", Bits(buffer_.dtype()), ", ", buffer_.shape_size(), ", {",
        Three(buffer_.shape()), "}, {", Three(strides_), "}, ",
        buffer_.origin(), ", ", buffer_.misalignment(), ", ", before.size(),
        ",\n     {kBefore", suffix_, ", ", FoldBytes(before).size(), "}, {",
        n == 0 ? "NULL" : "kExpected" + suffix_, ", ", n, "}, ",
        bounded ? "true" : "false", ", {",
        n_highest == 0 ? "NULL" : "kHighest" + suffix_, ", ", n_highest, "}, ",
        buffer_.open_size() == 0 ? "NULL" : "kOpen" + suffix_, ", ",
        buffer_.open_size(), "},\n");
  }

 private:
  template <typename Numbers>
  static std::string Three(const Numbers& numbers) {
    std::string text;
    for (int i = 0; i < 3; ++i) {
      absl::StrAppend(&text, i == 0 ? "" : ", ",
                      i < static_cast<int>(numbers.size()) ? numbers[i] : 1);
    }
    return text;
  }

  static std::string PieceText(const BytePiece& piece, std::size_t* bytes) {
    *bytes += piece.bytes.size();
    return absl::StrCat("{", piece.times, ", ", piece.bytes.size(), ", ",
                        ByteLiteral(piece.bytes, "     "), "}");
  }

  void AddPieces(const char* name, const std::vector<BytePiece>& pieces,
                 std::string* tables, std::size_t* bytes) const {
    absl::StrAppend(tables, "static const Piece ", name, suffix_, "[] = {\n");
    for (const BytePiece& piece : pieces) {
      absl::StrAppend(tables, "    ", PieceText(piece, bytes), ",\n");
    }
    // A buffer without bytes: no array is empty.
    if (pieces.empty()) absl::StrAppend(tables, "    {0, 0, \"\"},\n");
    absl::StrAppend(tables, "};\n");
  }

  std::size_t AddPatches(const char* name,
                         const std::vector<BytePatch>& patches,
                         std::string* tables, std::size_t* bytes) const {
    std::size_t count = 0;
    std::string text;
    for (const BytePatch& patch : patches) {
      std::size_t at = patch.at;
      for (const BytePiece& piece : FoldBytes(patch.bytes)) {
        absl::StrAppend(&text, "    {", at, ", ", PieceText(piece, bytes),
                        "},\n");
        at += piece.times * piece.bytes.size();
        ++count;
      }
    }
    if (count != 0) {
      absl::StrAppend(tables, "static const Patch ", name, suffix_, "[] = {\n",
                      text, "};\n");
    }
    return count;
  }

  const Evidence::Buffer& buffer_;
  const std::vector<std::int64_t> strides_;
  const std::string suffix_;
};

std::string HeadText(ReproducerKind kind, const ReproducerText& text) {
  std::string how;
  const std::string file = ReproducerFile(kind);
  switch (kind) {
    case ReproducerKind::kCxx:
      how = absl::StrCat("c++ -std=c++11 ", file,
                         " -o repro -ldl && ./repro [LIBRARY]");
      break;
    case ReproducerKind::kCuda:
      how = absl::StrCat("nvcc -std=c++20 ", file, " -o repro && ./repro",
                         text.kernel.empty() ? " [LIBRARY]" : "");
      break;
    case ReproducerKind::kTest:
      how = absl::StrCat("c++ -std=c++17 ", file,
                         " -lgtest -lgtest_main -ldl -o test && "
                         "MLAFUZZ_LIBRARY=... ./test");
      break;
    case ReproducerKind::kPython:
      break;  // python_source.cc
  }
  return absl::StrCat(
      "// ", text.id, "\n//\n", Comment(text.cause),
      "//\n// Needs nothing but this file",
      text.kernel.empty() ? " and the library" : "", ":\n//     ", how,
      "\n// It makes one call and prints what was expected and what it got; 0: "
      "as\n// expected, 1: the bug is there, 2: it cannot tell.\n//\n",
      Comment(text.environment), "//\n// The case it was made of:\n//\n",
      Comment(text.case_text));
}

std::string MainText(ReproducerKind kind, const std::string& id) {
  if (kind != ReproducerKind::kTest) {
    return "\nint main(int argc, char** argv) {\n"
           "  return Reproduce(kCall, argc > 1 ? argv[1] : kCall.library);\n"
           "}\n";
  }
  std::string name;
  bool upper = true;
  for (const char c : id) {
    if (c == '-') {
      upper = true;
      continue;
    }
    name += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    upper = false;
  }
  return absl::StrCat(
      "\nTEST(KvCacheRegression, ", name,
      ") {\n  const char* library = std::getenv(\"MLAFUZZ_LIBRARY\");\n"
      "  EXPECT_EQ(Reproduce(kCall, library != NULL ? library : "
      "kCall.library),\n            kFixed);\n}\n");
}

}  // namespace

std::vector<std::int64_t> CallStrides(const Evidence& evidence,
                                      const Evidence::Buffer& buffer) {
  std::vector<std::int64_t> strides(buffer.strides().begin(),
                                    buffer.strides().end());
  const bool split = evidence.layout() >= MLAFUZZ_LAYOUT_DSV4_FOOTER_584;
  if (split && buffer.name() == "cache" && strides.size() == 3) {
    strides[1] = buffer.shape(2);
  }
  return strides;
}

const char* ReproducerKindName(ReproducerKind kind) {
  switch (kind) {
    case ReproducerKind::kCxx:
      return "c++";
    case ReproducerKind::kCuda:
      return "cuda";
    case ReproducerKind::kTest:
      return "gtest";
    case ReproducerKind::kPython:
      return "python";
  }
  return "?";
}

const char* ReproducerFile(ReproducerKind kind) {
  switch (kind) {
    case ReproducerKind::kCxx:
      return "repro.cc";
    case ReproducerKind::kCuda:
      return "repro.cu";
    case ReproducerKind::kTest:
      return "regression_test.cc";
    case ReproducerKind::kPython:
      return "repro.py";
  }
  return "?";
}

absl::StatusOr<std::string> ReproducerSource(ReproducerKind kind,
                                             const Evidence& evidence,
                                             const ReproducerText& text) {
  if (!evidence.error().empty() || evidence.buffers().empty()) {
    return absl::FailedPreconditionError(evidence.error());
  }
  if (kind == ReproducerKind::kPython) return PythonSource(evidence, text);
  std::string tables, lines;
  std::size_t bytes = 0;
  for (int number = 0; number < evidence.buffers_size(); ++number) {
    BufferText(number, evidence).Run(&tables, &lines, &bytes);
    if (bytes > kMostReproducerBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the call has more than ", kMostReproducerBytes >> 10,
                       " KiB of bytes that do not repeat"));
    }
  }
  std::string kernel;
  if (!text.kernel.empty()) {
    auto embedded = KernelSource(text.kernel, evidence.schedule(),
                                 evidence.kernel() == "decode");
    if (!embedded.ok()) return embedded.status();
    kernel = absl::StrCat("\n// ---- The kernel: ", text.kernel, ".\n",
                          *embedded, "#define MLAFUZZ_EMBEDDED_KERNEL\n\n");
  }
  const std::string call = absl::StrCat(
      "static const Buffer kBuffers[] = {\n", lines,
      "};\nstatic const Call kCall = {\n    \"", evidence.kernel(), "\",\n    ",
      std::max(evidence.layout(), 1u), ", \"", absl::CEscape(text.library),
      "\",\n    ", text.seconds, ", ",
      evidence.should_end() == "refused" ? "true" : "false", ", kBuffers, ",
      evidence.buffers_size(), ", ", evidence.page_size(), ", ",
      evidence.nope() ? "true" : "false", ", ",
      absl::StrFormat("0x%08xu", evidence.softmax_scale_bits()), ", ",
      evidence.splits(), ", ", evidence.declared_topk(), ", ",
      evidence.query_length(), ", ", evidence.scratch_bytes(), "};\n");
  std::string out = HeadText(kind, text);
  absl::StrAppend(
      &out,
      "#include <dlfcn.h>\n#include <signal.h>\n#include <sys/types.h>\n"
      "#include <sys/wait.h>\n#include <unistd.h>\n\n#include <algorithm>\n"
      "#include <cstddef>\n#include <cstdint>\n#include <cstdio>\n"
      "#include <cstdlib>\n#include <cstring>\n#include <string>\n"
      "#include <vector>\n",
      kind == ReproducerKind::kTest ? "\n#include \"gtest/gtest.h\"\n" : "",
      kind == ReproducerKind::kCuda ? "\n#include <cuda_runtime.h>\n" : "",
      "\n// ---- The interface that the library was built for.\n", kDlpack);
  for (const absl::string_view line : absl::StrSplit(kInterface, '\n')) {
    if (absl::StartsWith(line, "#include ")) continue;
    absl::StrAppend(&out, line, "\n");
  }
  absl::StrAppend(&out, kernel, "namespace {\n", kBody, "\n// ---- The call.\n",
                  tables, call, "}  // namespace\n", MainText(kind, text.id));
  return out;
}

}  // namespace mlafuzz
