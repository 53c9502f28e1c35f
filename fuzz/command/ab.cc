// mlafuzz ab

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "fuzz/campaign/one_shot.h"
#include "fuzz/campaign/signals.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/target_flags.h"
#include "fuzz/worker/foreign.h"
#include "kernels/target_set.h"
#include "properties/ab/cache.h"

namespace mlafuzz {
namespace {

// vLLM pull request 54563: FlashInfer's decode on one sm_120 card.
struct Reported {
  double spread, arbitrary, pow2, ratio;
};
constexpr Reported kReport[] = {{1.4, 0.0030, 0.0213, 7.0},
                                {4.7, 0.0032, 0.0224, 7.0},
                                {10.1, 0.0062, 0.0737, 11.9},
                                {18.0, 0.0196, 0.1985, 10.2}};

constexpr char kReference[] =
    "fp64 attention over K = V = fp32(code * scale) and the bf16 query, from "
    "the same bytes; nothing else is rounded";

// One decode of the table. Ratios are to the first of its group.
struct Reader {
  std::string group;   // arithmetic
  std::string scales;  // what it does to them
  std::string target;
};

const char kAsStored[] = "as stored";

std::vector<Reader> Grid() {
  const char *qk = "QK pow2", *v = "V pow2", *both = "both pow2";
  return {
      {"bf16", kAsStored, "builtin"},
      {"bf16", qk, "mutant:qk-pow2-scale"},
      {"bf16", v, "mutant:v-pow2-scale"},
      {"bf16", both, "mutant:both-pow2-scale"},
      {"E4M3, two passes", kAsStored, "builtin:e4m3-two-pass"},
      {"E4M3, two passes", qk, "builtin:e4m3-two-pass-qk-pow2"},
      {"E4M3, two passes", v, "builtin:e4m3-two-pass-v-pow2"},
      {"E4M3, two passes", both, "builtin:e4m3-two-pass-both-pow2"},
      {"E4M3, one pass", kAsStored, "builtin:e4m3"},
      {"E4M3, one pass", qk, "builtin:e4m3-qk-pow2"},
      {"FlashInfer's rules", kAsStored, "builtin:flashinfer-arbitrary"},
      {"FlashInfer's rules", qk, "builtin:flashinfer-pow2"},
      {"FlashMLA's rules", "as bf16", "builtin:flashmla"},
  };
}

// A target with a decode of its own.
absl::StatusOr<std::string> DecodeNamed(const char* flag,
                                        const std::string& name) {
  const auto known = ReadTarget(name, Arguments());
  if (!known.ok()) return known.status();
  // A library says what it has when it is asked.
  if (IsForeign(name)) return known->all();
  for (const TargetInfo& info : AllTargets()) {
    if (info.name != WithoutDevice(name) || info.name == "builtin") continue;
    if (std::find(info.replaces.begin(), info.replaces.end(),
                  Kernel::kDecode) == info.replaces.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, "=", name,
                       " has no decode of its own; `mlafuzz targets` says "
                       "which have"));
    }
  }
  return name;
}

// --decode beside --against, or the grid.
absl::StatusOr<std::vector<Reader>> ReadReaders(const Arguments& arguments) {
  if (!arguments.Has("decode")) {
    if (arguments.Has("against")) {
      return absl::InvalidArgumentError(
          "--against needs a decode to compare: --decode=NAME");
    }
    return Grid();
  }
  const auto against =
      DecodeNamed("against", arguments.Has("against") ? arguments.Get("against")
                                                      : "builtin");
  if (!against.ok()) return against.status();
  const auto decode = DecodeNamed("decode", arguments.Get("decode"));
  if (!decode.ok()) return decode.status();
  return std::vector<Reader>{{"", "", *against}, {"", "", *decode}};
}

absl::StatusOr<std::vector<double>> ReadSpreads(const Arguments& arguments) {
  std::vector<double> spreads;
  if (!arguments.Has("spread")) {
    for (const Reported& reported : kReport) spreads.push_back(reported.spread);
    return spreads;
  }
  const std::string typed = arguments.Get("spread");
  for (const absl::string_view text : absl::StrSplit(typed, ',')) {
    double spread;
    if (!absl::SimpleAtod(text, &spread)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--spread needs numbers like 1.4,18, got \"", typed, "\""));
    }
    spreads.push_back(spread);
  }
  return spreads;
}

absl::StatusOr<AbSize> ReadSize(const Arguments& arguments) {
  AbSize size;
  for (const auto& [flag, field] :
       {std::pair("rows", &size.rows), std::pair("heads", &size.heads),
        std::pair("topk", &size.top_k)}) {
    const auto number =
        arguments.Number(flag, static_cast<std::uint64_t>(*field));
    if (!number.ok()) return number.status();
    *field = static_cast<std::int64_t>(std::min<std::uint64_t>(
        *number, std::numeric_limits<std::int64_t>::max()));
  }
  const auto seed = arguments.Number("seed", size.seed);
  if (!seed.ok()) return seed.status();
  size.seed = *seed;
  return size;
}

const Reported* ReportOf(double spread) {
  for (const Reported& reported : kReport) {
    if (reported.spread == spread) return &reported;
  }
  return nullptr;
}

// Error of decode `i` in units of that of its group's first.
std::optional<double> RatioOf(const std::vector<Reader>& readers,
                              const AbResult::Spread& spread, std::size_t i) {
  std::size_t first = i;
  while (first > 0 && readers[first - 1].group == readers[i].group) --first;
  if (first == i) return std::nullopt;
  const auto& one = spread.decodes(static_cast<int>(i));
  const auto& other = spread.decodes(static_cast<int>(first));
  if (!one.error().empty() || !other.error().empty()) return std::nullopt;
  return one.relative_l2() / other.relative_l2();
}

// ----------------------------------------------------------------------- Text

void PrintSpread(const std::vector<Reader>& readers,
                 const AbResult::Spread& spread) {
  std::printf(
      "\nlog2 spread %.4g asked, %.2f found: %lld of %lld scales are no powers "
      "of two;\n2^floor(log2 s) / s: mean %.3f, least %.3f\n  %-19s %-10s "
      "%-32s %6s %10s %9s %7s\n",
      spread.asked(), spread.log2_spread(),
      static_cast<long long>(spread.not_powers_of_two()),
      static_cast<long long>(spread.scales()), spread.mean_factor(),
      spread.least_factor(), "arithmetic", "scales", "decode", "rel. L2",
      "cosine", "LSE error", "ratio");
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const auto& decode = spread.decodes(static_cast<int>(i));
    std::printf("  %-19s %-10s %-32s ", readers[i].group.c_str(),
                readers[i].scales.c_str(), decode.target().c_str());
    if (!decode.error().empty()) {
      std::printf("%s\n", decode.error().c_str());
      continue;
    }
    std::printf("%7.4f %10.7f %9.1e", decode.relative_l2(), decode.cosine(),
                decode.lse_error());
    if (const auto ratio = RatioOf(readers, spread, i)) {
      std::printf(" %7.1f", *ratio);
    }
    std::printf("\n");
  }
  if (const Reported* reported = ReportOf(spread.asked())) {
    const std::string figures = absl::StrFormat(
        "%.4f as stored, %.4f pow2", reported->arbitrary, reported->pow2);
    std::printf("  %-62s %36.1f\n", absl::StrCat("reported: ", figures).c_str(),
                reported->ratio);
  }
}

// QK pow2 against as stored, per arithmetic, beside the report's.
void PrintRatios(const std::vector<Reader>& readers, const AbResult& result) {
  std::printf("\nrelative L2 of QK pow2 in units of as stored\n  %-19s",
              "log2 spread");
  for (const auto& spread : result.spreads()) {
    std::printf(" %7.4g", spread.asked());
  }
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (readers[i].scales != "QK pow2") continue;
    std::printf("\n  %-19s", readers[i].group.c_str());
    for (const auto& spread : result.spreads()) {
      const auto ratio = RatioOf(readers, spread, i);
      std::printf(" %7s",
                  ratio ? absl::StrFormat("%.1f", *ratio).c_str() : "-");
    }
  }
  std::printf("\n  %-19s", "reported");
  for (const auto& spread : result.spreads()) {
    const Reported* reported = ReportOf(spread.asked());
    std::printf(" %7s", reported == nullptr
                            ? "-"
                            : absl::StrFormat("%.1f", reported->ratio).c_str());
  }
  std::printf("\n");
}

// ----------------------------------------------------------------------- JSON

nlohmann::ordered_json ToJson(const std::vector<Reader>& readers,
                              const AbRequest& ab, const AbResult& result,
                              const std::string& flavour,
                              const std::string& tier) {
  nlohmann::ordered_json spreads = nlohmann::ordered_json::array();
  for (const AbResult::Spread& spread : result.spreads()) {
    nlohmann::ordered_json decodes = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const auto& decode = spread.decodes(static_cast<int>(i));
      nlohmann::ordered_json row = {{"target", decode.target()},
                                    {"arithmetic", readers[i].group},
                                    {"scales", readers[i].scales}};
      if (!decode.error().empty()) {
        row["error"] = decode.error();
      } else {
        // What is not finite becomes null.
        row["relative_l2"] = decode.relative_l2();
        row["cosine"] = decode.cosine();
        row["lse_error"] = decode.lse_error();
        if (const auto ratio = RatioOf(readers, spread, i)) {
          row["ratio"] = *ratio;
        }
      }
      decodes.push_back(std::move(row));
    }
    nlohmann::ordered_json one = {
        {"log2_spread_asked", spread.asked()},
        {"log2_spread", spread.log2_spread()},
        {"scales", spread.scales()},
        {"not_powers_of_two", spread.not_powers_of_two()},
        {"mean_factor", spread.mean_factor()},
        {"least_factor", spread.least_factor()},
        {"decodes", std::move(decodes)}};
    if (const Reported* reported = ReportOf(spread.asked())) {
      one["reported"] = {{"arbitrary_fp32", reported->arbitrary},
                         {"pow2_fp32", reported->pow2},
                         {"ratio", reported->ratio}};
    }
    spreads.push_back(std::move(one));
  }
  return {{"schema_version", 1},
          {"rows", ab.rows()},
          {"heads", ab.heads()},
          {"top_k", ab.top_k()},
          {"seed", ab.seed()},
          {"flavour", flavour},
          {"tier", tier},
          {"reference", kReference},
          {"spreads", std::move(spreads)}};
}

// --------------------------------------------------------------------- Command

int Fail(const absl::Status& s) {
  return UsageError(absl::StrCat("ab: ", s.message()));
}

int Run(const Arguments& arguments, const std::string&) {
  auto readers = ReadReaders(arguments);
  if (!readers.ok()) return Fail(readers.status());
  const auto backend = ReadBackendOf(arguments);
  if (!backend.ok()) return Fail(backend.status());
  if (IsOnDevice(backend->all())) {
    for (Reader& reader : *readers) {
      if (IsOnDevice(reader.target)) continue;
      reader.target = absl::StrCat(kOnDevice, reader.target);
    }
  }
  const std::string tier = TierText(*backend);
  const auto spreads = ReadSpreads(arguments);
  if (!spreads.ok()) return Fail(spreads.status());
  const auto size = ReadSize(arguments);
  if (!size.ok()) return Fail(size.status());
  for (const double spread : *spreads) {
    if (absl::Status s = CheckAbSize(*size, spread); !s.ok()) return Fail(s);
  }
  // The same results as with a sanitizer, in half the time.
  const auto engine =
      FindEngine(arguments.Has("flavour") ? arguments.Get("flavour") : "plain");
  if (!engine.ok()) return Fail(engine.status());

  WorkRequest request;
  AbRequest& ab = *request.mutable_ab();
  ab.set_rows(static_cast<std::uint32_t>(size->rows));
  ab.set_heads(static_cast<std::uint32_t>(size->heads));
  ab.set_top_k(static_cast<std::uint32_t>(size->top_k));
  ab.set_seed(size->seed);
  for (const double spread : *spreads) ab.add_spreads(spread);
  for (const Reader& reader : *readers) ab.add_decodes(reader.target);
  CatchStopSignals();
  const auto result = AbInWorker(*engine, request);
  if (!result.ok()) {
    UsageError(absl::StrCat("ab: ", result.status().message()));
    // A decode took the process with it.
    return absl::IsAborted(result.status()) ? kExitFound : kExitUsage;
  }

  bool failed = false;
  for (const auto& spread : result->spreads()) {
    for (const auto& decode : spread.decodes()) {
      failed |= !decode.error().empty();
    }
  }
  if (arguments.Has("json")) {
    std::printf(
        "%s\n",
        ToJson(*readers, ab, *result, engine->flavour, tier).dump(2).c_str());
    return failed ? kExitFound : kExitNothingFound;
  }
  std::printf(
      "cache of %u rows, %u heads, top-k %u, seed %llu; flavour %s, tier "
      "%s\nreference: %s\n",
      ab.rows(), ab.heads(), ab.top_k(),
      static_cast<unsigned long long>(ab.seed()), engine->flavour.c_str(),
      tier.c_str(), kReference);
  for (const auto& spread : result->spreads()) PrintSpread(*readers, spread);
  if (!arguments.Has("decode")) PrintRatios(*readers, *result);
  return failed ? kExitFound : kExitNothingFound;
}

}  // namespace

Command AbCommand() {
  return {"ab",
          "",
          "what a reader's scale convention costs in accuracy",
          {{"decode", "NAME", "this decode alone, instead of all conventions"},
           {"against", "NAME", "beside which one (default builtin)"},
           {"rows", "1024", "of the cache"},
           {"heads", "32", "of the query"},
           {"topk", "2048", "keys"},
           {"spread", "1.4,4.7,10.1,18", "log2 of largest to least scale"},
           {"seed", "1", "of the cache and the query"},
           {"backend", "host|cuda|auto", "where they run (default host)"},
           {"device", "N", "the GPU of --backend=cuda (default 0)"},
           {"flavour", "plain|asan+ubsan|race", "build of the kernels"},
           {"json", nullptr, "for programs"}},
          Run};
}

}  // namespace mlafuzz
