// mlafuzz contracts

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corpus/codec.h"
#include "corpus/parties.h"
#include "fuzz/command/commands.h"
#include "fuzz/command/contract_text.h"
#include "fuzz/command/environment.h"

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
  return {{"name", party.name},     {"role", PartyRoleName(party.role)},
          {"what", party.what},     {"layout", format.name},
          {"label", format.label},  {"computed", format.why_not == nullptr},
          {"source", party.source}, {"rules", rules}};
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
    std::printf("%-13s label %-18s %s%s%s\n", format.name,
                absl::StrCat("\"", format.label, "\"").c_str(), format.words,
                format.why_not == nullptr ? "" : "; not computed: ",
                format.why_not == nullptr ? "" : format.why_not);
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
  if (format.why_not != nullptr) {
    std::printf("  not computed: %s\n", format.why_not);
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

int Run(const Arguments& arguments, const std::string&) {
  if (arguments.positional().size() > 1) {
    return Fail(absl::StrCat("takes one name, got \"",
                             arguments.positional()[1], "\" too"));
  }
  if (arguments.positional().empty()) return List(arguments);
  return ShowOne(arguments, arguments.positional()[0]);
}

}  // namespace

Command ContractsCommand() {
  return {"contracts",
          "[NAME]",
          "known writers, gathers and readers, and what each promises",
          {{"json", "FILE", "the same for programs"}},
          Run};
}

}  // namespace mlafuzz
