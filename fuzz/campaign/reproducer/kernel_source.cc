#include "fuzz/campaign/reproducer/kernel_source.h"

#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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
constexpr char kChecksShim[] =
#include "fuzz/campaign/reproducer/kernel_checks_shim.inc"
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

// Puts each file in the place of its first #include. Those that would lead to
// the rest of the project have something smaller in their place.
class Inliner {
 public:
  std::string Inline(absl::string_view path) {
    if (!seen_.insert(std::string(path)).second) return "";
    if (path == "kernels/target_set.h") {
      return absl::StrCat(
          kShim, "namespace mlafuzz {\n",
          Slice(path, "// Where and how a call runs.", "class ForeignTarget"),
          "}  // namespace mlafuzz\n");
    }
    if (path == "kernels/host_checks.h") {
      return absl::StrCat(
          Inline("kernels/params.h"), Inline("kernels/target_set.h"),
          kChecksShim,
          Slice("kernels/host_checks.cc",
                "kernels::WriterParams ToParams(const WriteArgs& args) {",
                "}  // namespace mlafuzz"),
          "}  // namespace mlafuzz\n");
    }
    // nvcc does not read what the host backend includes.
    if (absl::StartsWith(path, "kernels/simt/host_")) return "";
    if (TextOf(path).empty()) missing_ = std::string(path);
    std::string out;
    for (const absl::string_view line : absl::StrSplit(TextOf(path), '\n')) {
      absl::string_view name = line;
      if (!absl::ConsumePrefix(&name, "#include \"")) {
        absl::StrAppend(&out, line, "\n");
        continue;
      }
      absl::StrAppend(&out, Inline(name.substr(0, name.find('"'))));
    }
    return out;
  }

  // A file that is not embedded; empty if all are.
  const std::string& missing() const { return missing_; }

 private:
  std::set<std::string> seen_;
  std::string missing_;
};

}  // namespace

absl::StatusOr<std::string> KernelSource(absl::string_view target,
                                         std::uint64_t schedule) {
  const std::string quoted = absl::StrCat("\"", target, "\"");
  for (const EmbeddedFile& file : kFiles) {
    if (!absl::EndsWith(file.path, ".cc") ||
        !absl::StrContains(file.text, quoted)) {
      continue;
    }
    Inliner inliner;
    std::string out = inliner.Inline(file.path);
    if (!inliner.missing().empty()) {
      return absl::NotFoundError(absl::StrCat(
          target, " includes ", inliner.missing(), ", which is not embedded"));
    }
    absl::StrAppend(&out, "namespace {\n",
                    "const std::uint64_t kSchedule = ", schedule,
                    "u;\nconst char kEmbeddedKernel[] = ", quoted,
                    ";\nstd::vector<mlafuzz::CompiledTarget> "
                    "EmbeddedKernels() {\n"
                    "  std::vector<mlafuzz::CompiledTarget> all;\n");
    const std::string text = file.text;
    const std::regex maker(
        "\\n(CompiledTarget|std::vector<CompiledTarget>) (\\w+)\\(\\) \\{");
    for (std::sregex_iterator it(text.begin(), text.end(), maker), end;
         it != end; ++it) {
      const std::string name = (*it)[2];
      if ((*it)[1] == "CompiledTarget") {
        absl::StrAppend(&out, "  all.push_back(mlafuzz::", name, "());\n");
      } else {
        absl::StrAppend(&out, "  for (const auto& one : mlafuzz::", name,
                        "()) all.push_back(one);\n");
      }
    }
    absl::StrAppend(&out, "  return all;\n}\n}  // namespace\n", kGlue);
    return out;
  }
  return absl::NotFoundError(absl::StrCat(
      "no source of writer, gather or index conversion has ", target));
}

}  // namespace mlafuzz
