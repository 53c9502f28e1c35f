// mlafuzz import

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "corpus/codec.h"
#include "corpus/token_layout.h"
#include "fuzz/campaign/options.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/corpus_files.h"
#include "fuzz/command/environment.h"
#include "fuzz/dump/cases.h"
#include "fuzz/dump/dump.h"
#include "fuzz/dump/scan.h"

namespace mlafuzz {
namespace {

constexpr std::uint64_t kMostCases = 10000;
constexpr std::uint64_t kMostHeads = 128;

// By its name in docs/layouts.md or that in cases.
absl::StatusOr<Layout> ReadLayout(const std::string& name) {
  std::vector<std::string> known;
  for (const TokenLayout& layout : TokenLayouts()) {
    if (name == layout.name ||
        absl::AsciiStrToUpper(name) == Layout_Name(layout.layout)) {
      return layout.layout;
    }
    known.emplace_back(layout.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("--layout needs one of ",
                                                 absl::StrJoin(known, ", "),
                                                 ", got \"", name, "\""));
}

absl::StatusOr<DumpFiles> ReadFiles(const Arguments& arguments) {
  if (arguments.positional().size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("needs one file, the bytes of a cache, got ",
                     arguments.positional().size()));
  }
  DumpFiles files;
  files.cache = CallersPath(arguments.positional()[0]);
  auto layout = ReadLayout(arguments.Get("layout"));
  if (!layout.ok()) return layout.status();
  files.layout = *layout;
  const std::array<std::pair<const char*, std::int64_t*>, 6> numbers = {{
      {"page-size", &files.page_size},
      {"page-bytes", &files.page_bytes},
      {"row-stride", &files.row_stride},
      {"pages", &files.pages},
      {"table-columns", &files.table_columns},
      {"topk", &files.topk},
  }};
  for (const auto& [flag, to] : numbers) {
    const auto number = arguments.Number(flag, 0);
    if (!number.ok()) return number.status();
    if (*number == 0 && arguments.Has(flag)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " needs 1 or more, got 0"));
    }
    // Far above any of them, and far from where products of them end.
    if (*number > (1u << 31)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " ", *number, " is too large"));
    }
    *to = static_cast<std::int64_t>(*number);
  }
  files.block_table = CallersPath(arguments.Get("block-table"));
  files.seq_lens = CallersPath(arguments.Get("seq-lens"));
  files.slots = CallersPath(arguments.Get("slot-indices"));
  files.tokens = CallersPath(arguments.Get("token-indices"));
  files.request_ids = CallersPath(arguments.Get("request-ids"));
  files.lengths = CallersPath(arguments.Get("lengths"));
  return files;
}

void PrintDump(const Dump& dump, const Scan& scan) {
  const CacheDump& cache = dump.cache;
  const auto held = std::count_if(dump.lengths.begin(), dump.lengths.end(),
                                  [](std::int64_t n) { return n > 0; });
  std::printf(
      "%s: %lld pages of %lld tokens, %s; %lld requests hold %llu tokens\n",
      ShownPath(cache.file().path()).c_str(),
      static_cast<long long>(cache.pages()),
      static_cast<long long>(cache.page_size()),
      TokenLayoutOf(cache.layout()).name, static_cast<long long>(held),
      static_cast<unsigned long long>(scan.tokens));
  std::printf("scales: %llu, of which %llu are powers of two\n",
              static_cast<unsigned long long>(scan.scales),
              static_cast<unsigned long long>(scan.powers_of_two));
  if (!dump.has_table) {
    std::printf("note: no --block-table: the pages in order as one request\n");
  } else if (!dump.has_lengths) {
    std::printf("note: no --seq-lens: all pages are taken as full\n");
  }
  if (dump.other_negatives > 0) {
    std::printf(
        "note: %lld indices are negative but not -1, the first in %s; a kernel "
        "that takes -1 alone for none reads them\n",
        static_cast<long long>(dump.other_negatives),
        dump.first_other_negative.c_str());
  }
  for (const Oddity oddity : kAllOddities) {
    const Scan::Count& count = scan.odd[static_cast<std::size_t>(oddity)];
    if (count.tokens == 0) continue;
    std::printf(
        "note: %llu tokens have %s, the first at offset %lld (page %lld, row "
        "%lld)\n",
        static_cast<unsigned long long>(count.tokens), OddityName(oddity),
        static_cast<long long>(count.first_byte),
        static_cast<long long>(count.page), static_cast<long long>(count.row));
  }
  if (scan.zero_tokens > 0) {
    std::printf("note: %llu tokens are zero in all bytes: never written?\n",
                static_cast<unsigned long long>(scan.zero_tokens));
  }
}

// What the dump had nothing for.
std::string NotMade(const Dump& dump, Kernel kernel) {
  switch (kernel) {
    case Kernel::kGather:
      return "no request holds a token";
    case Kernel::kConvert:
      return "no --token-indices";
    case Kernel::kDecode:
      if (dump.cache.layout() != FP8_DS_MLA) {
        return absl::StrCat("no decode of ",
                            TokenLayoutOf(dump.cache.layout()).name,
                            " is known here");
      }
      return "no --slot-indices and no --token-indices";
    case Kernel::kWriter:
      break;
  }
  return "what was written is not in a dump";
}

absl::Status WriteCases(const std::vector<ImportedCase>& cases,
                        const std::string& out) {
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat(out, ": cannot make the folder: ", error.message()));
  }
  std::size_t written = 0;
  for (const ImportedCase& c : cases) {
    const std::string name =
        absl::StrCat(KernelName(c.kernel), "-", CaseId(c.message), ".binpb");
    if (absl::Status s = WriteFileAtomically(absl::StrCat(out, "/", name),
                                             CanonicalBinary(c.message));
        !s.ok()) {
      std::fflush(stdout);
      return absl::Status(
          s.code(),
          absl::StrCat(s.message(), "; ", written, " of ", cases.size(),
                       " cases are written, each "
                       "whole: make room and import again"));
    }
    ++written;
    std::printf("%s: %s\n", name.c_str(), c.where.c_str());
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Import(const Arguments& arguments) {
  const auto files = ReadFiles(arguments);
  if (!files.ok()) return files.status();
  SampleOptions options;
  options.most_bytes = kMaxInputBytes;
  const auto cases = arguments.Number("cases", options.cases);
  if (!cases.ok()) return cases.status();
  if (*cases == 0 || *cases > kMostCases) {
    return absl::InvalidArgumentError(
        absl::StrCat("--cases needs 1 to ", kMostCases, ", got ", *cases));
  }
  options.cases = static_cast<int>(*cases);
  const auto seed = arguments.Number("seed", options.seed);
  if (!seed.ok()) return seed.status();
  options.seed = *seed;
  const auto heads = arguments.Number("heads", options.heads);
  if (!heads.ok()) return heads.status();
  if (*heads == 0 || *heads > kMostHeads) {
    return absl::InvalidArgumentError(
        absl::StrCat("--heads needs 1 to ", kMostHeads, ", got ", *heads));
  }
  options.heads = static_cast<std::uint32_t>(*heads);
  const auto dump = ReadDump(*files);
  if (!dump.ok()) return dump.status();
  const auto scan = ScanTokens(*dump);
  if (!scan.ok()) return scan.status();
  PrintDump(*dump, *scan);
  const auto made = SampleCases(*dump, *scan, options);
  if (!made.ok()) return made.status();
  if (made->empty()) {
    return absl::InvalidArgumentError(
        "there is nothing to make a case of: no "
        "request holds a token");
  }
  const std::string out = CallersPath(
      arguments.Has("out") ? arguments.Get("out") : "mlafuzz-import");
  if (absl::Status s = WriteCases(*made, out); !s.ok()) return s;
  for (const Kernel kernel : kAllKernels) {
    const auto count = std::count_if(
        made->begin(), made->end(),
        [kernel](const ImportedCase& c) { return c.kernel == kernel; });
    if (count > 0) {
      std::printf("%s: %lld cases\n", KernelName(kernel),
                  static_cast<long long>(count));
    } else {
      std::printf("%s: no cases, %s\n", KernelName(kernel),
                  NotMade(*dump, kernel).c_str());
    }
  }
  std::printf("replay: %s replay %s\n", ProgramCommand().c_str(),
              ShellWord(ShownPath(out)).c_str());
  return kExitNothingFound;
}

int Run(const Arguments& arguments, const std::string&) {
  const auto code = Import(arguments);
  if (code.ok()) return *code;
  return UsageError(absl::StrCat("import: ", code.status().message()));
}

}  // namespace

Command ImportCommand() {
  return {
      "import",
      "CACHE",
      "a server's raw cache bytes, block table and indices into cases",
      {{"layout", "row656|row528|footer584|...", "of the cache's bytes"},
       {"page-size", "N", "tokens of a page; a .npy of 3 dimensions says it"},
       {"page-bytes", "N", "from page to page (default: the layout's)"},
       {"row-stride", "N", "bytes from row to row (default: the layout's)"},
       {"pages", "N", "that there must be"},
       {"block-table", "FILE", "int32 [requests, columns], page numbers"},
       {"table-columns", "N", "columns of a raw block table"},
       {"seq-lens", "FILE", "int32 [requests], tokens in the cache"},
       {"slot-indices", "FILE", "int32 [rows, topk], slots of the pool"},
       {"token-indices", "FILE",
        "int32 [rows, topk], token numbers within a request"},
       {"topk", "N", "columns of raw indices"},
       {"request-ids", "FILE", "int32 [rows], whose token indices they are"},
       {"lengths", "FILE", "int32 [rows], how many indices of each row count"},
       {"cases", "N", "of each kernel, at most (default 32)"},
       {"seed", "S", "of what is drawn (default 1)"},
       {"heads", "N", "of a decode's queries, which are generated (default 2)"},
       {"out", "DIR", "where cases go (default mlafuzz-import)"}},
      Run};
}

}  // namespace mlafuzz
