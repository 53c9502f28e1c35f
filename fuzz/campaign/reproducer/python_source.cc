#include "fuzz/campaign/reproducer/python_source.h"

#include <bit>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "fuzz/campaign/report/markup.h"
#include "fuzz/campaign/reproducer/byte_pieces.h"

namespace mlafuzz {
namespace {

constexpr char kBody[] =
#include "fuzz/campaign/reproducer/body_py.inc"
    ;
// What a module may import of this project.
constexpr char kModule[] =
#include "fuzz/campaign/reproducer/python_interface.inc"
    ;

// Any bytes as a literal of bytes, in lines of at most 16.
std::string BytesText(absl::string_view bytes) {
  constexpr std::size_t kLine = 16;
  if (bytes.size() <= kLine) {
    std::string out = "b\"";
    for (const char c : bytes) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(c));
    }
    return out + "\"";
  }
  std::string out = "(";
  for (std::size_t at = 0; at < bytes.size(); at += kLine) {
    absl::StrAppend(&out, "\n                ",
                    BytesText(bytes.substr(at, kLine)));
  }
  return out + ")";
}

// Any text as a literal, in one line.
std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", std::string(1, c));
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&out, "\\x%02x", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string Comment(absl::string_view text) {
  std::string out;
  for (const absl::string_view line : absl::StrSplit(ShownText(text), '\n')) {
    absl::StrAppend(&out, line.empty() ? "#" : "# ", line, "\n");
  }
  return out;
}

std::string PiecesText(absl::string_view bytes, std::size_t* size) {
  std::string out = "[";
  for (const BytePiece& piece : FoldBytes(bytes)) {
    *size += piece.bytes.size();
    absl::StrAppend(&out, "(", piece.times, ", ", BytesText(piece.bytes), "),");
  }
  return out + "]";
}

std::string PatchesText(absl::string_view from, absl::string_view to,
                        std::size_t* size) {
  std::string out = "[";
  if (!to.empty()) {
    for (const BytePatch& patch : DifferenceOf(from, to)) {
      std::size_t at = patch.at;
      for (const BytePiece& piece : FoldBytes(patch.bytes)) {
        *size += piece.bytes.size();
        absl::StrAppend(&out, "(", at, ", ", piece.times, ", ",
                        BytesText(piece.bytes), "),");
        at += piece.times * piece.bytes.size();
      }
    }
  }
  return out + "]";
}

// The members of a buffer, one a line.
std::string BufferLines(const Evidence& evidence,
                        const Evidence::Buffer& buffer, std::size_t* size) {
  const bool bounded = !buffer.lowest().empty();
  const std::string& expected = bounded ? buffer.lowest() : buffer.expected();
  std::vector<std::string> open;
  for (const Evidence::Range& range : buffer.open()) {
    open.push_back(absl::StrCat("(", range.begin(), ", ", range.end(), ")"));
  }
  std::string out = "        {\n";
  const auto add = [&out](absl::string_view name, absl::string_view value) {
    absl::StrAppend(&out, "            \"", name, "\": ", value, ",\n");
  };
  add("name", Quoted(buffer.name()));
  add("dtype", Quoted(buffer.dtype()));
  add("shape", absl::StrCat("[", absl::StrJoin(buffer.shape(), ", "), "]"));
  add("strides",
      absl::StrCat("[", absl::StrJoin(CallStrides(evidence, buffer), ", "),
                   "]"));
  add("origin", absl::StrCat(buffer.origin()));
  add("misalignment", absl::StrCat(buffer.misalignment()));
  add("before", PiecesText(buffer.before(), size));
  add("expected", PatchesText(buffer.before(), expected, size));
  add("bounded", bounded ? "True" : "False");
  add("highest",
      bounded ? PatchesText(expected, buffer.highest(), size) : "[]");
  add("open", absl::StrCat("[", absl::StrJoin(open, ", "), "]"));
  absl::StrAppend(&out, "        },\n");
  return out;
}

}  // namespace

absl::StatusOr<std::string> PythonSource(const Evidence& evidence,
                                         const ReproducerText& text) {
  std::string buffers;
  std::size_t size = 0;
  for (const Evidence::Buffer& buffer : evidence.buffers()) {
    absl::StrAppend(&buffers, BufferLines(evidence, buffer, &size));
    if (size > kMostReproducerBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the call has more than ", kMostReproducerBytes >> 10,
                       " KiB of bytes that do not repeat"));
    }
  }
  std::string out = absl::StrCat(
      "# ", text.id, "\n#\n", Comment(text.cause),
      "#\n# Needs the module, and numpy:\n#     python3 repro.py "
      "[MODULE[:NAME]]\n# It makes one call and prints what was expected and "
      "what it got; 0: as\n# expected, 1: the bug is there, 2: it cannot "
      "tell.\n#\n",
      Comment(text.environment), "#\n# The case it was made of:\n#\n",
      Comment(text.case_text),
      "\n# ---- What a module may import of mlafuzz.\n", "MLAFUZZ = r'''",
      kModule, "'''\n\n# ---- The call.\nCALL = {\n");
  const auto add = [&out](absl::string_view name, absl::string_view value) {
    absl::StrAppend(&out, "    \"", name, "\": ", value, ",\n");
  };
  // The function that this kernel is called for.
  add("kernel",
      Quoted(evidence.kernel() == "writer" ? "write" : evidence.kernel()));
  add("module", Quoted(text.module));
  add("folder", Quoted(text.folder));
  add("device", text.on_device ? "True" : "False");
  add("seconds", absl::StrCat(text.seconds));
  add("ends", Quoted(evidence.should_end() == "refused" ? "refused" : "ok"));
  add("page_size", absl::StrCat(evidence.page_size()));
  add("nope", evidence.nope() ? "True" : "False");
  // A float of fp32 that reads back as it was.
  add("softmax_scale",
      absl::StrFormat("float.fromhex(\"%a\")",
                      static_cast<double>(std::bit_cast<float>(
                          std::uint32_t{evidence.softmax_scale_bits()}))));
  add("splits", absl::StrCat(evidence.splits()));
  add("declared_topk", absl::StrCat(evidence.declared_topk()));
  add("query_length", absl::StrCat(evidence.query_length()));
  absl::StrAppend(&out, "    \"buffers\": [\n", buffers, "    ],\n}\n\n",
                  kBody);
  return out;
}

}  // namespace mlafuzz
