#include "properties/matrix/matrix.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "properties/minimize/minimize.h"

// How a chain is judged:
//   1. `cases` seeds make cases; those that fit are kept with their images.
//      None fits because a party refuses all of them: refused.
//   2. If the chain is apart from its twin on any, it disagrees. Of the rules
//      in which the two differ the smallest sets are sought that, set to what
//      is meant, leave no case apart.
//   3. Else each rule in question must have been shown by some case.
namespace mlafuzz {
namespace {

constexpr char kAnd[] = " and ";
constexpr char kOr[] = " or ";

struct Example {
  std::unique_ptr<Case> message;  // the image points into it
  CaseImage image;
};

std::optional<Example> MakeExample(Case c) {
  Example e;
  e.message = std::make_unique<Case>(std::move(c));
  absl::StatusOr<CaseImage> image = BuildImage(*e.message);
  if (!image.ok()) return std::nullopt;
  e.image = *std::move(image);
  return e;
}

Chain Repaired(Chain chain, const std::vector<MeaningRule>& rules,
               std::uint32_t which) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if ((which >> i & 1) != 0) SetRule(chain, rules[i].field, rules[i].meant);
  }
  return chain;
}

// The smallest sets of deviations without which no example is apart: as bits.
std::vector<std::uint32_t> SmallestRepairs(
    const Chain& chain, const std::vector<MeaningRule>& rules,
    const std::vector<Example>& examples) {
  const Chain twin = Twin(chain);
  const std::uint32_t all = (1u << rules.size()) - 1;
  for (std::size_t size = 1; size <= rules.size(); ++size) {
    std::vector<std::uint32_t> repairs;
    for (std::uint32_t which = 1; which <= all; ++which) {
      if (static_cast<std::size_t>(__builtin_popcount(which)) != size) continue;
      const Chain repaired = Repaired(chain, rules, which);
      if (std::none_of(examples.begin(), examples.end(), [&](const Example& e) {
            return Apart(repaired, twin, e.image).has_value();
          })) {
        repairs.push_back(which);
      }
    }
    if (!repairs.empty()) return repairs;
  }
  return {all};  // the twin itself
}

std::string FieldText(const std::vector<MeaningRule>& rules,
                      const std::vector<std::uint32_t>& repairs) {
  std::vector<std::string> choices;
  for (const std::uint32_t which : repairs) {
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if ((which >> i & 1) != 0) fields.push_back(rules[i].field);
    }
    choices.push_back(absl::StrJoin(fields, kAnd));
  }
  return absl::StrJoin(choices, kOr);
}

// "qk.scale_rule is SCALE_POW2_FLOOR where the rows mean SCALE_RAW".
std::string RulesText(const Chain& chain, const std::string& field) {
  std::vector<std::string> texts;
  for (const MeaningRule& rule : Deviations(chain)) {
    if (!absl::StrContains(field, rule.field)) continue;
    texts.push_back(absl::StrCat(rule.field, " is ", RuleOf(chain, rule.field),
                                 " where the rows mean ", rule.meant));
  }
  return absl::StrJoin(texts, "; ");
}

// Weights enter as E4M3 of weight times scale, over a step of at least
// 1e-10 / 448. At most 1 times 2^-127 is 0 there.
bool ScaleInWeights(const Arithmetic& arithmetic) {
  return arithmetic.weights() == Arithmetic::WEIGHTS_E4M3 ||
         arithmetic.weights() == Arithmetic::WEIGHTS_E4M3_TWO_PASS;
}

// The contract leaves open whether a subnormal scale counts (docs/bounds.md).
bool MayFlush(const Arithmetic& arithmetic) {
  return arithmetic.denormals() != Arithmetic::DENORMALS_KEPT;
}

// Why rows that a rule of the reader takes otherwise, or whose tail the writer
// leaves, are yet read as they are meant. Of what the search has shown.
std::string WhyTheSame(const Chain& chain) {
  std::vector<std::string> reasons;
  for (const MeaningRule& rule : Deviations(chain)) {
    const std::string own = RuleOf(chain, rule.field);
    std::string why;
    if (rule.field == "writer.tail") {
      why = "the reader does not take the tail";
    } else if (absl::EndsWith(rule.field, ".nope_tail")) {
      why = "the writer zeroes the tail";
    } else if (rule.field == "v.ue8m0_last") {
      why = "the logit of a row with byte 255 is NaN, and so is all its output";
    } else if (absl::EndsWith(rule.field, ".ue8m0_last")) {
      why = "what the writer stores beside byte 255 is NaN by either";
    } else if (rule.field == "v.ue8m0_zero" &&
               ScaleInWeights(chain.reader.arithmetic())) {
      why = "a weight times the scale of byte 0 is 0 in E4M3";
    } else if (chain.kernel == Kernel::kDecode &&
               absl::EndsWith(rule.field, ".ue8m0_zero") &&
               MayFlush(chain.reader.arithmetic())) {
      why = "as a subnormal number the scale of byte 0 may count as zero";
    } else if (absl::EndsWith(rule.field, ".ue8m0_zero")) {
      why = "the writer's floor is above the scale of byte 0";
    } else if (RuleOf(chain, "writer.scale") == "POW2_CEIL" &&
               own != "SCALE_ONE" && own != "SCALE_FIRST_TILE") {
      why = "the stored scales are powers of two, which it leaves as they are";
    } else {
      why = "no case shows it";
    }
    reasons.push_back(absl::StrCat(rule.field, " is ", own, ": ", why));
  }
  if (reasons.empty()) return "the reader takes rows as they are";
  return absl::StrJoin(reasons, "; ");
}

// Whether cases have to show the rule before the chain can agree. Not those of
// which no case can:
//   * Scale byte 255 in a decode that takes it for NaN in the logits: the row's
//     logit and output are NaN, however the values take it. What would come of
//     Inf there is nobody's promise (0 times Inf is NaN, a logit of Inf
//     anything), so a decode that takes it for Inf is never shown to be right.
//   * Byte 0 in a decode to which subnormal numbers may be zero, as 2^-127 is
//     one; and among the values where weights have the scale in them, for E4M3
//     makes 0 of them (ScaleInWeights()).
// Both ends of a tail are asked for under writer.tail.
bool InQuestion(const Chain& chain, const std::string& field) {
  if (field == "qk.ue8m0_last" || field == "v.ue8m0_last") {
    return RuleOf(chain, "qk.ue8m0_last") != "LAST_IS_NAN";
  }
  const Arithmetic& arithmetic = chain.reader.arithmetic();
  if (field == "qk.ue8m0_zero") return !MayFlush(arithmetic);
  if (field == "v.ue8m0_zero") {
    return !MayFlush(arithmetic) && !ScaleInWeights(arithmetic);
  }
  return !absl::EndsWith(field, ".nope_tail");
}

std::optional<std::string> WitnessesImage(const Chain& chain,
                                          const std::string& field,
                                          const CaseImage& image) {
  if (Fits(chain, image).fit != Fit::kFits) return std::nullopt;
  const Chain twin = Twin(chain);
  auto words = Apart(chain, twin, image);
  if (!words.has_value()) return std::nullopt;
  const std::vector<std::string> choices = absl::StrSplit(field, kOr);
  const std::vector<std::string> fields = absl::StrSplit(choices[0], kAnd);
  for (const std::string& one : fields) {
    // All but this one set to what is meant.
    Chain left = chain;
    for (const MeaningRule& rule : Deviations(chain)) {
      if (rule.field != one &&
          std::find(fields.begin(), fields.end(), rule.field) != fields.end()) {
        SetRule(left, rule.field, rule.meant);
      }
    }
    if (!Apart(left, twin, image).has_value()) return std::nullopt;
  }
  return *std::move(words);
}

class Builder {
 public:
  Builder(std::vector<MatrixParty> parties, const MatrixOptions& options)
      : options_(options) {
    matrix_.parties = std::move(parties);
  }

  Matrix Build() && {
    for (const MatrixParty& writer : matrix_.parties) {
      if (writer.role != PartyRole::kWriter) continue;
      for (const MatrixParty& reader : matrix_.parties) {
        if (reader.role == PartyRole::kReader) Add(writer, nullptr, &reader);
      }
      for (const MatrixParty& gather : matrix_.parties) {
        if (gather.role != PartyRole::kGather) continue;
        Add(writer, &gather, nullptr);
        for (const MatrixParty& reader : matrix_.parties) {
          if (reader.role == PartyRole::kReader) Add(writer, &gather, &reader);
        }
      }
    }
    return std::move(matrix_);
  }

 private:
  void Add(const MatrixParty& writer, const MatrixParty* gather,
           const MatrixParty* reader) {
    Case first;
    const MatrixParty& next = gather != nullptr ? *gather : *reader;
    Cell cell;
    if (gather != nullptr && reader != nullptr) {
      cell = ByFormats(*gather->leaves, *reader);
    } else {
      cell = ByFormats(*writer.format, next);
      if (cell.reason.empty()) {
        cell = JudgeChain(ChainOf(writer, next), options_, &first);
      }
    }
    cell.writer = writer.name;
    if (gather != nullptr) cell.gather = gather->name;
    if (reader != nullptr) cell.reader = reader->name;
    if (cell.verdict == CellVerdict::kDisagree && options_.witnesses) {
      AddWitness(ChainOf(writer, next), next.name, first, cell);
    }
    matrix_.cells.push_back(std::move(cell));
  }

  // Refused or not computed by layout alone; else no reason.
  static Cell ByFormats(const CacheFormat& has, const MatrixParty& next) {
    Cell cell;
    const CacheFormat& takes = *next.format;
    if (&has != &takes) {
      cell.verdict = CellVerdict::kRefused;
      cell.field = "layout";
      cell.reason = OtherFormat(has, takes);
    } else if (const char* why_not = WhyNotComputed(has, next.role);
               why_not != nullptr) {
      cell.verdict = CellVerdict::kNotComputed;
      cell.field = "layout";
      cell.reason = absl::StrCat(has.name, ": ", why_not);
    }
    return cell;
  }

  // One that another cell has will do if it shows the same here.
  void AddWitness(const Chain& chain, const std::string& reader,
                  const Case& first, Cell& cell) {
    const std::size_t index = matrix_.cells.size();
    for (MatrixWitness& known : matrix_.witnesses) {
      const auto words = Witnesses(chain, cell.field, known.message);
      if (!words.has_value()) continue;
      known.cells.push_back(index);
      Note(chain, *words, known.name, cell);
      return;
    }
    MinimizeOptions options;
    options.max_tries = 3000;
    options.max_seconds = 1e6;  // what is found must not depend on time
    MatrixWitness witness;
    witness.message = Minimize(
        first, options,
        [&](const Case& c) {
          return Witnesses(chain, cell.field, c).has_value();
        },
        nullptr);
    witness.cells.push_back(index);
    const std::vector<std::string> choices = absl::StrSplit(cell.field, kOr);
    const std::string base = absl::StrCat(
        Plain(reader), "-", absl::StrReplaceAll(choices[0], {{kAnd, "-"}}));
    std::string name = base;
    const auto taken = [&](const MatrixWitness& w) { return w.name == name; };
    for (int n = 2;
         std::any_of(matrix_.witnesses.begin(), matrix_.witnesses.end(), taken);
         ++n) {
      name = absl::StrCat(base, "-", n);
    }
    witness.name = name;
    Note(chain, Witnesses(chain, cell.field, witness.message).value_or(""),
         name, cell);
    matrix_.witnesses.push_back(std::move(witness));
  }

  // Fit for a file's name.
  static std::string Plain(std::string name) {
    for (char& ch : name) {
      if (ch == '/' || ch == ':' || ch == ' ') ch = '_';
    }
    return name;
  }

  static void Note(const Chain& chain, const std::string& words,
                   const std::string& name, Cell& cell) {
    cell.witness = name;
    cell.replay = absl::StrCat("--chain=", cell.writer, ",", cell.gather, ",",
                               cell.reader);
    cell.reason = absl::StrCat(RulesText(chain, cell.field), ": ", words);
  }

  const MatrixOptions options_;
  Matrix matrix_;
};

}  // namespace

// What two formats have in common is at most a name.
std::string OtherFormat(const CacheFormat& has, const CacheFormat& takes) {
  const bool same_label = std::string(has.label) == takes.label;
  return absl::StrCat(
      "the rows are ", has.name, " (", has.words, "), the reader takes ",
      takes.name, " (", takes.words, ")",
      same_label ? absl::StrCat("; both are called \"", has.label, "\"") : "");
}

MatrixParty ToMatrixParty(const Party& party) {
  return {party.name,
          party.role,
          party.what,
          FindCacheFormat(party.format),
          FindCacheFormat(party.leaves),
          party.rope,
          PartyContract(party),
          party.second_cache};
}

std::vector<MatrixParty> NamedParties() {
  std::vector<MatrixParty> parties;
  for (const Party& party : AllParties()) {
    parties.push_back(ToMatrixParty(party));
  }
  return parties;
}

const char* CellVerdictName(CellVerdict verdict) {
  switch (verdict) {
    case CellVerdict::kAgree:
      return "agree";
    case CellVerdict::kDisagree:
      return "disagree";
    case CellVerdict::kRefused:
      return "refused";
    case CellVerdict::kNotComputed:
      return "not computed";
  }
  return "";
}

Matrix BuildMatrix(std::vector<MatrixParty> parties,
                   const MatrixOptions& options) {
  return Builder(std::move(parties), options).Build();
}

Chain ChainOf(const MatrixParty& writer, const MatrixParty& reader) {
  return {writer.contract, reader.contract,
          reader.role == PartyRole::kGather ? Kernel::kGather : Kernel::kDecode,
          writer.rope, reader.second_cache};
}

Cell JudgeChain(const Chain& chain, const MatrixOptions& options, Case* first) {
  Cell cell;
  std::vector<Example> examples;
  FitResult refusal;
  for (int seed = 1; seed <= options.cases; ++seed) {
    std::optional<Example> e =
        MakeExample(ChainCase(chain, static_cast<std::uint64_t>(seed)));
    if (!e.has_value()) continue;
    FitResult fit = Fits(chain, e->image);
    if (fit.fit == Fit::kFits) {
      examples.push_back(*std::move(e));
    } else if (fit.fit == Fit::kRefused) {
      refusal = std::move(fit);
    }
  }
  cell.cases = static_cast<int>(examples.size());
  if (examples.empty()) {
    const bool refused = refusal.fit == Fit::kRefused;
    cell.verdict = refused ? CellVerdict::kRefused : CellVerdict::kNotComputed;
    cell.field = refusal.rule;
    cell.reason = refused ? refusal.reason : "no case fits this chain";
    return cell;
  }
  for (const MeaningRule& rule : MeaningRules(chain)) {
    if (!InQuestion(chain, rule.field)) continue;
    int shown = 0;
    for (const Example& e : examples) {
      shown += ShowsRule(chain, rule.field, e.image) ? 1 : 0;
    }
    cell.informative.emplace_back(rule.field, shown);
  }
  const Chain twin = Twin(chain);
  if (std::any_of(examples.begin(), examples.end(), [&](const Example& e) {
        return Apart(chain, twin, e.image).has_value();
      })) {
    const std::vector<MeaningRule> rules = Deviations(chain);
    cell.verdict = CellVerdict::kDisagree;
    cell.field = FieldText(rules, SmallestRepairs(chain, rules, examples));
    cell.reason = RulesText(chain, cell.field);
    for (const Example& e : examples) {
      if (!WitnessesImage(chain, cell.field, e.image).has_value()) continue;
      *first = *e.message;
      break;
    }
    return cell;
  }
  std::vector<std::string> blind;
  for (const auto& [field, shown] : cell.informative) {
    if (shown == 0) blind.push_back(field);
  }
  if (!blind.empty()) {
    cell.verdict = CellVerdict::kNotComputed;
    cell.field = absl::StrJoin(blind, kAnd);
    cell.reason = absl::StrCat("none of ", examples.size(),
                               " cases could show another value");
    return cell;
  }
  cell.verdict = CellVerdict::kAgree;
  cell.reason = WhyTheSame(chain);
  return cell;
}

std::optional<std::string> Witnesses(const Chain& chain,
                                     const std::string& field, const Case& c) {
  const absl::StatusOr<CaseImage> image = BuildImage(c);
  if (!image.ok()) return std::nullopt;
  const std::optional<std::string> words = WitnessesImage(chain, field, *image);
  if (!words.has_value()) return std::nullopt;
  return *words;
}

}  // namespace mlafuzz
