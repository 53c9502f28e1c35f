// mlafuzz contracts

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "corpus/codec.h"
#include "corpus/parties.h"
#include "fuzz/command/attached_matrix.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/contract_text.h"
#include "fuzz/command/environment.h"
#include "fuzz/command/matrix_text.h"
#include "fuzz/command/target_flags.h"
#include "properties/matrix/matrix.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

int Fail(absl::string_view message) {
  return UsageError(absl::StrCat("contracts: ", message));
}

std::vector<std::string> PartyNames() {
  std::vector<std::string> names;
  for (const Party& party : AllParties()) names.push_back(party.name);
  return names;
}

// The kernel's own rules, and of a reader those of both sides and its
// arithmetic.
std::vector<std::string> RulesOf(PartyRole role) {
  switch (role) {
    case PartyRole::kWriter:
      return {"writer"};
    case PartyRole::kGather:
      return {"gather"};
    case PartyRole::kReader:
      return {"qk", "v", "decode", "arithmetic"};
  }
  return {};
}

Json PartyJson(const Party& party) {
  const CacheFormat& format = *FindCacheFormat(party.format);
  Json rules = Json::array();
  for (const ContractField& field :
       ContractFields(PartyContract(party), RulesOf(party.role))) {
    rules.push_back({{"field", field.name},
                     {"value", field.value},
                     {"meaning", field.meaning}});
  }
  return {{"name", party.name},
          {"role", PartyRoleName(party.role)},
          {"what", party.what},
          {"layout", format.name},
          {"label", format.label},
          {"computed", WhyNotComputed(format, party.role) == nullptr},
          {"source", party.source},
          {"rules", rules}};
}

// 0, or the usage error of a file that cannot be written.
int WriteJson(const Arguments& arguments, const Json& json) {
  if (!arguments.Has("json")) return kExitNothingFound;
  if (arguments.Get("json").empty()) {
    return Fail("--json needs a file: --json=contracts.json");
  }
  const absl::Status s = WriteFileAtomically(CallersPath(arguments.Get("json")),
                                             absl::StrCat(json.dump(2), "\n"));
  return s.ok() ? kExitNothingFound : Fail(s.message());
}

int List(const Arguments& arguments) {
  Json parties = Json::array();
  for (const Party& party : AllParties()) parties.push_back(PartyJson(party));
  const int code =
      WriteJson(arguments, Json{{"schema_version", 1}, {"contracts", parties}});
  if (code != kExitNothingFound) return code;
  std::printf("%-23s %-7s %-11s %s\n", "name", "role", "layout",
              "what, source");
  for (const Party& party : AllParties()) {
    std::printf("%-23s %-7s %-11s %s\n%43s %s\n", party.name,
                PartyRoleName(party.role), party.format, party.what, "",
                party.source);
  }
  std::printf("\nlayouts\n");
  for (const CacheFormat& format : AllCacheFormats()) {
    const char* why_not = WhyNotComputed(format, PartyRole::kReader);
    std::printf("%-13s label %-18s %s%s%s\n", format.name,
                absl::StrCat("\"", format.label, "\"").c_str(), format.words,
                why_not == nullptr         ? ""
                : format.layout == nullptr ? "; not computed: "
                                           : "; its readers not computed: ",
                why_not == nullptr ? "" : why_not);
  }
  return kExitNothingFound;
}

int ShowOne(const Arguments& arguments, const std::string& name) {
  const Party* party = FindParty(name);
  if (party == nullptr) {
    const std::string near = Nearest(name, PartyNames());
    return Fail(absl::StrCat("no contract is named \"", name, "\"; ",
                             near.empty() ? "`mlafuzz contracts` lists them"
                                          : absl::StrCat("nearest: ", near)));
  }
  const int code = WriteJson(
      arguments,
      Json{{"schema_version", 1}, {"contracts", {PartyJson(*party)}}});
  if (code != kExitNothingFound) return code;
  const CacheFormat& format = *FindCacheFormat(party->format);
  std::printf("%s, a %s: %s\n  layout  %s, \"%s\": %s\n  source  %s\n",
              party->name, PartyRoleName(party->role), party->what, format.name,
              format.label, format.words, party->source);
  if (const char* why_not = WhyNotComputed(format, party->role);
      why_not != nullptr) {
    std::printf("  not computed: %s\n", why_not);
  }
  for (const ContractField& field :
       ContractFields(PartyContract(*party), RulesOf(party->role))) {
    std::printf("  %-34s %s\n", field.name.c_str(), field.value.c_str());
    if (!field.meaning.empty()) {
      std::printf("      %s\n", field.meaning.c_str());
    }
  }
  return kExitNothingFound;
}

constexpr char kWitnesses[] = "corpus/witnesses";

absl::Status WriteWitnesses(const Matrix& matrix, const std::string& folder) {
  for (const MatrixWitness& witness : matrix.witnesses) {
    const std::string path = absl::StrCat(folder, "/", WitnessFile(witness));
    absl::Status s = WriteFileAtomically(CallersPath(path),
                                         WitnessText(matrix, witness, folder));
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Targets>> ReadMatrixTargets(
    const Arguments& arguments) {
  std::vector<Targets> targets;
  std::vector<std::string> names =
      absl::StrSplit(arguments.Get("targets"), ',', absl::SkipWhitespace());
  if (names.empty()) {
    return absl::InvalidArgumentError(
        "--targets needs targets: --targets=lib:a.so,lib:b.so");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::count(names.begin(), names.end(), names[i]) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--targets names ", names[i], " twice"));
    }
    auto one = ReadTarget(names[i], arguments);
    if (!one.ok()) return one.status();
    targets.push_back(*std::move(one));
  }
  return targets;
}

int ShowMatrix(const Arguments& arguments) {
  AttachedMatrix result;
  const bool attached = arguments.Has("targets");
  if (attached) {
    const auto targets = ReadMatrixTargets(arguments);
    if (!targets.ok()) return Fail(targets.status().message());
    auto built = BuildAttachedMatrix(*targets, MatrixOptions());
    if (!built.ok()) return Fail(built.status().message());
    result = *std::move(built);
  } else {
    result.matrix = BuildMatrix(NamedParties(), MatrixOptions());
  }
  const Matrix& matrix = result.matrix;
  std::string folder = arguments.Get("witnesses");
  if (arguments.Has("witnesses")) {
    if (folder.empty()) {
      return Fail("--witnesses needs a folder: --witnesses=corpus/witnesses");
    }
    if (absl::Status s = WriteWitnesses(matrix, folder); !s.ok()) {
      return Fail(s.message());
    }
  } else if (!attached) {
    folder = kWitnesses;
  }
  const int code = WriteJson(arguments, MatrixJson(matrix, folder));
  if (code != kExitNothingFound) return code;
  std::printf("%s", MatrixText(matrix).c_str());
  if (!attached) return kExitNothingFound;
  for (const Cell& cell : matrix.cells) {
    if (cell.verdict == CellVerdict::kRefused) continue;
    std::printf("%s: %s%s%s: %s\n", ChainName(cell).c_str(),
                CellVerdictName(cell.verdict), cell.field.empty() ? "" : ", ",
                cell.field.c_str(), cell.reason.c_str());
  }
  if (result.surprises == 0) {
    const bool compared = std::any_of(
        matrix.cells.begin(), matrix.cells.end(), [](const Cell& cell) {
          return cell.verdict == CellVerdict::kAgree ||
                 cell.verdict == CellVerdict::kDisagree;
        });
    if (compared) return kExitNothingFound;
    std::printf("nothing was run: each cell is refused or not computed\n");
    return kExitUninformative;
  }
  std::printf("%d of these disagree where their contracts agree\n",
              result.surprises);
  return kExitFound;
}

int Run(const Arguments& arguments, const std::string&) {
  if (!arguments.Has("matrix")) {
    for (const char* flag : {"targets", "witnesses"}) {
      if (!arguments.Has(flag)) continue;
      return Fail(absl::StrCat("--", flag, " is of --matrix; add --matrix"));
    }
  } else if (!arguments.positional().empty()) {
    return Fail(absl::StrCat("--matrix takes no name, got \"",
                             arguments.positional()[0], "\""));
  } else {
    return ShowMatrix(arguments);
  }
  if (arguments.positional().size() > 1) {
    return Fail(absl::StrCat("takes one name, got \"",
                             arguments.positional()[1], "\" too"));
  }
  if (arguments.positional().empty()) return List(arguments);
  return ShowOne(arguments, arguments.positional()[0]);
}

}  // namespace

Command ContractsCommand() {
  std::vector<Flag> flags = {
      {"json", "FILE", "the same for programs"},
      {"matrix", nullptr, "who can read what whom wrote"},
      {"targets", "A,B", "of --matrix: of these targets, which are run"},
      {"witnesses", "DIR", "of --matrix: write the witnesses there"},
  };
  const std::vector<Flag> limits = RunnerLimitFlags();
  flags.insert(flags.end(), limits.begin(), limits.end());
  return {"contracts", "[NAME]",
          "known writers, gathers and readers, and what each promises", flags,
          Run};
}

}  // namespace mlafuzz
