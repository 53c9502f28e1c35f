#include "fuzz/command/chain_replay.h"

#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "corpus/image.h"
#include "corpus/parties.h"
#include "fuzz/command/arguments.h"
#include "properties/matrix/matrix.h"

namespace mlafuzz {
namespace {

// As in fuzz/command/commands.h, of which this is a part.
constexpr int kAgrees = 0;
constexpr int kDisagrees = 1;
constexpr int kUninformative = 3;

absl::StatusOr<const Party*> Find(const std::string& name, PartyRole role) {
  if (const Party* party = FindParty(name);
      party != nullptr && party->role == role) {
    return party;
  }
  std::vector<std::string> known;
  for (const Party& party : AllParties()) {
    if (party.role == role) known.push_back(party.name);
  }
  const std::string near = Nearest(name, known);
  return absl::NotFoundError(absl::StrCat(
      "--chain: no ", PartyRoleName(role), " is named \"", name, "\"; ",
      near.empty() ? "`mlafuzz contracts` lists them"
                   : absl::StrCat("nearest: ", near)));
}

}  // namespace

absl::StatusOr<Chain> ReadChain(const std::string& names) {
  const std::vector<std::string> parts = absl::StrSplit(names, ',');
  if (parts.size() != 3 || (parts[1] == kNobody) == (parts[2] == kNobody)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--chain needs a writer and either a gather or a reader: "
                     "WRITER,GATHER,none or WRITER,none,READER, got \"",
                     names, "\""));
  }
  const auto writer = Find(parts[0], PartyRole::kWriter);
  if (!writer.ok()) return writer.status();
  const auto reader = parts[1] == kNobody ? Find(parts[2], PartyRole::kReader)
                                          : Find(parts[1], PartyRole::kGather);
  if (!reader.ok()) return reader.status();
  for (const Party* party : {*writer, *reader}) {
    const CacheFormat& format = *FindCacheFormat(party->format);
    const char* why_not = WhyNotComputed(format, party->role);
    if (why_not == nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--chain: ", party->name, " has layout ", format.name, ": ", why_not));
  }
  if (std::string_view((*writer)->format) != (*reader)->format) {
    const CacheFormat& has = *FindCacheFormat((*writer)->format);
    const CacheFormat& takes = *FindCacheFormat((*reader)->format);
    return absl::InvalidArgumentError(
        absl::StrCat("--chain: refused: ", OtherFormat(has, takes)));
  }
  return ChainOf(ToMatrixParty(**writer), ToMatrixParty(**reader));
}

ChainAnswer ReplayChain(const Chain& chain, const Case& c) {
  const absl::StatusOr<CaseImage> image = BuildImage(c);
  if (!image.ok()) {
    return {std::string(image.status().message()), kUninformative};
  }
  const FitResult fit = Fits(chain, *image);
  if (fit.fit == Fit::kRefused) {
    return {absl::StrCat("refused (", fit.rule, "): ", fit.reason),
            kUninformative};
  }
  if (fit.fit == Fit::kOther) {
    return {
        "no case of this chain: it needs a write and the reader's step on "
        "rows that it wrote",
        kUninformative};
  }
  const Chain twin = Twin(chain);
  if (const auto words = Apart(chain, twin, *image); words.has_value()) {
    // Rules without which nothing is wrong, or less.
    std::vector<std::string> rules;
    for (const MeaningRule& rule : Deviations(chain)) {
      Chain alone = twin;
      SetRule(alone, rule.field, RuleOf(chain, rule.field));
      Chain without = chain;
      SetRule(without, rule.field, rule.meant);
      if (Apart(alone, twin, *image).has_value() ||
          !Apart(without, twin, *image).has_value()) {
        rules.push_back(absl::StrCat(rule.field, " is ",
                                     RuleOf(chain, rule.field),
                                     " where the rows mean ", rule.meant));
      }
    }
    return {
        absl::StrCat("disagree: ", absl::StrJoin(rules, "; "), ": ", *words),
        kDisagrees};
  }
  for (const MeaningRule& rule : MeaningRules(chain)) {
    if (ShowsRule(chain, rule.field, *image)) {
      return {"agree", kAgrees};
    }
  }
  return {"agree, but this case could show nothing else", kUninformative};
}

}  // namespace mlafuzz
