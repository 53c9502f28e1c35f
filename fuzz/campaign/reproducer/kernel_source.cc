#include "fuzz/campaign/reproducer/kernel_source.h"

#include <algorithm>
#include <regex>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mlafuzz {
namespace {

struct EmbeddedFile {
  const char* path;
  const char* text;
};

constexpr EmbeddedFile kFiles[] = {
#include "fuzz/campaign/reproducer/kernel_sources.inc"
};

constexpr char kShim[] =
#include "fuzz/campaign/reproducer/kernel_shim.inc"
    ;
constexpr char kGlue[] =
#include "fuzz/campaign/reproducer/kernel_glue.inc"
    ;

absl::string_view TextOf(absl::string_view path) {
  for (const EmbeddedFile& file : kFiles) {
    if (path == file.path) return file.text;
  }
  return "";
}

// From the line that begins with `first` up to that which begins with `end`.
std::string Slice(absl::string_view path, absl::string_view first,
                  absl::string_view end) {
  std::string out;
  bool inside = false;
  for (const absl::string_view line : absl::StrSplit(TextOf(path), '\n')) {
    if (absl::StartsWith(line, first)) inside = true;
    if (inside && absl::StartsWith(line, end)) break;
    if (inside) absl::StrAppend(&out, line, "\n");
  }
  return out;
}

bool IsDecode(absl::string_view path) {
  return absl::StartsWith(path, "kernels/decode/");
}

// Puts each file in the place of its first #include, and what a header declares
// behind it. Those that would lead to the rest of the project have something
// smaller in their place.
class Inliner {
 public:
  // `root`: the file that the kernel is in. Of a decode's, only the
  // declarations of other kernels' checks are wanted.
  explicit Inliner(absl::string_view root)
      : decodes_(IsDecode(root)),
        calls_builtin_(absl::StrContains(TextOf(root), "RunDecode(")) {}

  std::string Inline(absl::string_view path) {
    if (!seen_.insert(std::string(path)).second) return "";
    // What is there already, or is not wanted: DLPack's declarations; the host
    // backend, which nvcc does not read.
    if (path == "dlpack/dlpack.h" ||
        absl::StartsWith(path, "kernels/simt/host_")) {
      return "";
    }
    if (absl::StartsWith(path, "corpus/") || absl::StartsWith(path, "absl/")) {
      return seen_.insert("shim").second ? kShim : "";
    }
    if (path == "kernels/target_set.h") {
      return absl::StrCat(
          Inline("corpus/"), "namespace mlafuzz {\n",
          Slice(path, "// Where and how a call runs.", "class ForeignTarget"),
          "}  // namespace mlafuzz\n");
    }
    std::string out = InlineText(path);
    // What checks are declared is defined, too; those of other kernels are not
    // wanted with a decode.
    const bool others = path == "kernels/host_checks.h" ||
                        path == "kernels/layouts/page_checks.h";
    if ((others && !decodes_) || path == "kernels/tensor_checks.h" ||
        path == "kernels/decode/checks.h") {
      absl::StrAppend(
          &out, Inline(absl::StrCat(absl::StripSuffix(path, ".h"), ".cc")));
    }
    if (path == "kernels/decode/decode.h") {
      // Those that only promise what builtin does need no builtin.
      absl::StrAppend(
          &out,
          calls_builtin_ ? Inline("kernels/decode/decode.cc")
          : seen_.count("kernels/decode/decode.cc") != 0
              ? ""
              : "namespace mlafuzz {\nContract DecodeContractOf(const "
                "DecodeOptions&, Layout) {\n  return Contract();\n}\n}\n");
    }
    if (path == "kernels/decode/mutants/twin.h") {
      absl::StrAppend(&out, Inline("kernels/decode/mutants/adjusted.cc"));
    }
    return out;
  }

  // A file that is not embedded; empty if all are.
  const std::string& missing() const { return missing_; }

 private:
  std::string InlineText(absl::string_view path) {
    if (TextOf(path).empty()) missing_ = std::string(path);
    std::string out;
    bool skips = false;  // the lines of a function's body
    for (const absl::string_view line : absl::StrSplit(TextOf(path), '\n')) {
      if (skips) {
        skips = line != "}";
        continue;
      }
      absl::string_view name = line;
      if (absl::ConsumePrefix(&name, "#include \"")) {
        absl::StrAppend(&out, Inline(name.substr(0, name.find('"'))));
        continue;
      }
      // What a kernel promises is made of messages of this project, and maybe
      // of another kernel's promise.
      const std::size_t body = line.find(") {");
      if (absl::StartsWith(line, "Contract ") &&
          body != absl::string_view::npos) {
        absl::StrAppend(&out, line.substr(0, body),
                        ") { return Contract(); }\n");
        skips = absl::EndsWith(line, " {");
        continue;
      }
      if (!absl::EndsWith(line, " {")) {
        absl::StrAppend(
            &out, absl::StrReplaceAll(line, {{"absl::", "words::"}}), "\n");
        continue;
      }
      if (absl::StartsWith(line, "ReaderSide::") ||
          absl::StartsWith(line, "void SetArithmetic(")) {
        skips = true;
      } else {
        absl::StrAppend(&out, line, "\n");
      }
    }
    return out;
  }

  const bool decodes_;
  const bool calls_builtin_;
  std::set<std::string> seen_;
  std::string missing_;
};

}  // namespace

absl::StatusOr<std::string> KernelSource(absl::string_view target,
                                         std::uint64_t schedule, bool decode) {
  const std::string quoted = absl::StrCat("\"", target, "\"");
  std::vector<const EmbeddedFile*> files;
  for (const EmbeddedFile& file : kFiles) {
    if (absl::EndsWith(file.path, ".cc") &&
        absl::StrContains(file.text, quoted)) {
      files.push_back(&file);
    }
  }
  if (!files.empty()) {
    // Of the call's own kind, if any is.
    const auto own = std::find_if(files.begin(), files.end(),
                                  [decode](const EmbeddedFile* file) {
                                    return IsDecode(file->path) == decode;
                                  });
    const EmbeddedFile& file = own == files.end() ? *files.front() : **own;
    Inliner inliner(file.path);
    std::string out = inliner.Inline(file.path);
    // Glue speaks of decodes, too.
    absl::StrAppend(&out, inliner.Inline("kernels/compiled_target.h"),
                    inliner.Inline("kernels/decode/compiled_decode.h"));
    if (!inliner.missing().empty()) {
      return absl::NotFoundError(absl::StrCat(
          target, " includes ", inliner.missing(), ", which is not embedded"));
    }
    absl::StrAppend(&out, "namespace {\n",
                    "const std::uint64_t kSchedule = ", schedule,
                    "u;\nconst char kEmbeddedKernel[] = ", quoted,
                    ";\nmlafuzz::CompiledTarget OfDecode(const "
                    "mlafuzz::CompiledDecode& one) {\n"
                    "  mlafuzz::CompiledTarget target = {one.name, one.what, "
                    "{}};\n  target.kernels.decode = one.decode;\n"
                    "  return target;\n}\n"
                    "std::vector<mlafuzz::CompiledTarget> "
                    "EmbeddedKernels() {\n"
                    "  std::vector<mlafuzz::CompiledTarget> all;\n");
    const std::string text = file.text;
    const std::regex maker(
        "\\n(std::vector<)?Compiled(Target|Decode)>? (\\w+)\\(\\) \\{");
    for (std::sregex_iterator it(text.begin(), text.end(), maker), end;
         it != end; ++it) {
      const std::string one = (*it)[2] == "Decode" ? "OfDecode(one)" : "one";
      const std::string made = absl::StrCat("mlafuzz::", (*it)[3].str(), "()");
      absl::StrAppend(
          &out,
          (*it)[1].matched
              ? absl::StrCat("  for (const auto& one : ", made, ")")
              : absl::StrCat("  {\n    const auto one = ", made, ";\n  "),
          "  all.push_back(", one, ");\n", (*it)[1].matched ? "" : "  }\n");
    }
    absl::StrAppend(&out, "  return all;\n}\n}  // namespace\n", kGlue);
    return out;
  }
  return absl::NotFoundError(absl::StrCat("no source of kernels has ", target));
}

}  // namespace mlafuzz
