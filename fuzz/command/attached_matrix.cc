#include "fuzz/command/attached_matrix.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corpus/contracts.h"
#include "fuzz/worker/session.h"
#include "kernels/target_set.h"
#include "properties/checker.h"
#include "properties/minimize/minimize.h"

namespace mlafuzz {
namespace {

// A party and the target whose kernel it is.
using Origins = std::map<std::pair<PartyRole, std::string>, const Targets*>;

bool WritesPeDim(const Contract& contract, std::uint32_t pe_dim) {
  const auto& dims = contract.writer().pe_dims();
  return std::find(dims.begin(), dims.end(), pe_dim) != dims.end();
}

// A target that is compiled in has kernels of its own and the builtin's.
bool IsOwn(absl::string_view name, Kernel kernel) {
  for (const TargetInfo& info : AllTargets()) {
    if (info.name != WithoutDevice(name) || info.replaces.empty()) continue;
    return std::find(info.replaces.begin(), info.replaces.end(), kernel) !=
           info.replaces.end();
  }
  return true;
}

// The target's kernel, if it has one of its own.
const Target* OwnKernel(const TargetSet& set, absl::string_view name,
                        Kernel kernel) {
  const Target* target = set.For(kernel);
  return target->Implements(kernel) && IsOwn(name, kernel) ? target : nullptr;
}

absl::Status AddParties(const Targets& targets,
                        std::vector<MatrixParty>* parties, Origins* origins) {
  const absl::StatusOr<TargetSet> set = MakeTargets(targets);
  if (!set.ok()) return set.status();
  const std::string& name = targets.all();
  bool any = false;
  const auto add = [&](const Target& target, const std::string& as,
                       PartyRole role, Rope rope) {
    MatrixParty party;
    party.name = as;
    party.role = role;
    party.what = absl::StrCat("the ", PartyRoleName(role), " of ", name);
    party.format = FormatOfLayout(target.contract().layout());
    if (party.format == nullptr) return;
    if (role == PartyRole::kGather) {
      party.leaves = FindCacheFormat(party.format->gathered);
    }
    party.rope = rope;
    party.contract = target.contract();
    party.second_cache =
        role == PartyRole::kReader &&
        RuleApplies(party.contract.layout(), "decode.extra") &&
        party.contract.decode().extra() == DecodeContract::EXTRA_READ;
    parties->push_back(std::move(party));
    (*origins)[{role, as}] = &targets;
    any = true;
  };
  if (const Target* t = OwnKernel(*set, name, Kernel::kWriter)) {
    if (t->contract().layout() != FP8_DS_MLA) {  // with one pe_dim
      add(*t, name, PartyRole::kWriter, Rope::kWritten);
    } else if (WritesPeDim(t->contract(), 64)) {
      add(*t, name, PartyRole::kWriter, Rope::kWritten);
    }
    if (t->contract().layout() == FP8_DS_MLA && WritesPeDim(t->contract(), 0)) {
      add(*t, absl::StrCat(name, " (NoPE)"), PartyRole::kWriter, Rope::kNone);
    }
  }
  if (const Target* t = OwnKernel(*set, name, Kernel::kGather)) {
    add(*t, absl::StrCat(name, " (gather)"), PartyRole::kGather,
        Rope::kWritten);
  }
  if (const Target* t = OwnKernel(*set, name, Kernel::kDecode)) {
    add(*t, absl::StrCat(name, " (decode)"), PartyRole::kReader,
        Rope::kWritten);
  }
  if (!any) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has no writer, gather or decode of a layout known here"));
  }
  return absl::OkStatus();
}

// Runs a cell's cases and changes the cell to what was seen.
class CellRun {
 public:
  CellRun(const Chain& chain, const MatrixOptions& options, Session& session,
          Cell& cell)
      : chain_(chain),
        twin_(Twin(chain)),
        declared_apart_(cell.verdict == CellVerdict::kDisagree),
        options_(options),
        session_(session),
        cell_(cell) {}

  // Whether it is worse than declared.
  absl::StatusOr<bool> Run(const Case* witness) {
    if (witness != nullptr) {
      if (absl::Status s = Try(*witness); !s.ok()) return s;
    }
    for (int seed = 1; seed <= options_.cases && !shown_.has_value(); ++seed) {
      const Case c = ChainCase(chain_, static_cast<std::uint64_t>(seed));
      if (absl::Status s = Try(c); !s.ok()) return s;
    }
    if (declared_apart_) {
      if (shown_.has_value()) {
        absl::StrAppend(&cell_.reason, "; observed: ", seen_.words);
      } else {
        cell_.verdict = CellVerdict::kAgree;
        cell_.reason = absl::StrCat(
            "the declared contracts disagree (", cell_.field,
            "), but no case of these kernels shows it: is a contract wrong?");
        cell_.field.clear();
        cell_.witness.clear();
      }
      cell_.replay.clear();  // each keeps its contract
      return false;
    }
    if (!shown_.has_value()) {
      absl::StrAppend(&cell_.reason, "; observed in ", tried_, " cases");
      if (!broken_.empty())
        absl::StrAppend(&cell_.reason, ", though ", broken_);
      return false;
    }
    // Each try of one that hangs takes as long as a call may.
    if (!seen_.hangs) MakeSmall();
    cell_.verdict = CellVerdict::kDisagree;
    cell_.field = seen_.field;
    cell_.reason = absl::StrCat("not as declared: ", seen_.words,
                                seen_.broken.empty() ? "" : "; ", seen_.broken);
    return true;
  }

  const Case& shown() const { return *shown_; }

 private:
  struct Seen {
    bool fits = false;
    bool hangs = false;
    std::string words;   // empty: nothing wrong for this cell
    std::string field;   // what the first failing check is laid to
    std::string broken;  // the same in a sentence
  };

  absl::StatusOr<Seen> See(const Case& c) {
    Seen seen;
    CaseResult result;
    if (absl::Status s = session_.checker().CheckCase(c, {}, &result);
        !s.ok()) {
      return s;
    }
    if (Fits(chain_, result.image).fit != Fit::kFits) return seen;
    seen.fits = true;
    for (const StepObservation& step : result.observation.steps) {
      seen.hangs |= step.status == CallStatus::kHang;
    }
    for (const Check& check : result.checks) {
      if (!IsFailure(check.verdict)) continue;
      const Diagnosis why = session_.checker().Why(result, check);
      seen.field = why.field.empty() ? why.key : why.field;
      seen.broken = absl::StrCat("it breaks its own contract: ", why.cause);
      break;
    }
    const auto words = Misses(twin_, result.image, result.observation);
    if (words.has_value() &&
        (declared_apart_ ||
         Misses(chain_, result.image, result.observation).has_value())) {
      seen.words = *words;
      if (seen.field.empty()) seen.field = "unknown";
    }
    return seen;
  }

  absl::Status Try(const Case& c) {
    absl::StatusOr<Seen> seen = See(c);
    if (!seen.ok()) return seen.status();
    if (seen->fits) ++tried_;
    if (broken_.empty()) broken_ = seen->broken;
    if (seen->words.empty()) return absl::OkStatus();
    seen_ = *std::move(seen);
    shown_ = c;
    return absl::OkStatus();
  }

  // The smallest case that the same rule shows on.
  void MakeSmall() {
    const std::string field = seen_.field;
    MinimizeOptions options;
    options.max_tries = 1000;
    shown_ = Minimize(
        *shown_, options,
        [&](const Case& c) {
          const absl::StatusOr<Seen> seen = See(c);
          return seen.ok() && !seen->words.empty() && seen->field == field;
        },
        nullptr);
    if (absl::StatusOr<Seen> seen = See(*shown_);
        seen.ok() && !seen->words.empty()) {
      seen_ = *std::move(seen);
    }
  }

  const Chain& chain_;
  const Chain twin_;
  const bool declared_apart_;
  const MatrixOptions& options_;
  Session& session_;
  Cell& cell_;
  int tried_ = 0;
  std::string broken_;
  Seen seen_;
  std::optional<Case> shown_;
};

// The writer of one target, the rest of another.
Targets Pair(const Targets& writer, const Targets& reader) {
  Targets pair = reader;
  pair.set_writer(writer.all());
  for (const Library& library : writer.libraries()) {
    if (std::none_of(pair.libraries().begin(), pair.libraries().end(),
                     [&](const Library& known) {
                       return known.path() == library.path();
                     })) {
      *pair.add_libraries() = library;
    }
  }
  return pair;
}

}  // namespace

absl::StatusOr<AttachedMatrix> BuildAttachedMatrix(
    const std::vector<Targets>& targets, const MatrixOptions& options) {
  std::vector<MatrixParty> parties;
  Origins origins;
  for (const Targets& one : targets) {
    if (absl::Status s = AddParties(one, &parties, &origins); !s.ok()) return s;
  }
  const auto has = [&parties](PartyRole role) {
    return std::any_of(
        parties.begin(), parties.end(),
        [role](const MatrixParty& party) { return party.role == role; });
  };
  if (!has(PartyRole::kWriter) ||
      !(has(PartyRole::kGather) || has(PartyRole::kReader))) {
    return absl::InvalidArgumentError(
        "--targets needs a writer and a gather or decode among its targets; "
        "`mlafuzz targets --check NAME` says which a target has");
  }
  AttachedMatrix out;
  out.matrix = BuildMatrix(parties, options);
  const auto find = [&](PartyRole role, const std::string& name) {
    return &*std::find_if(parties.begin(), parties.end(),
                          [&](const MatrixParty& party) {
                            return party.role == role && party.name == name;
                          });
  };
  for (std::size_t i = 0; i < out.matrix.cells.size(); ++i) {
    Cell& cell = out.matrix.cells[i];
    if (cell.verdict != CellVerdict::kAgree &&
        cell.verdict != CellVerdict::kDisagree) {
      continue;
    }
    const bool gather = cell.gather != kNobody;
    const PartyRole role = gather ? PartyRole::kGather : PartyRole::kReader;
    const std::string& reader = gather ? cell.gather : cell.reader;
    auto session = Session::Create(Pair(
        *origins[{PartyRole::kWriter, cell.writer}], *origins[{role, reader}]));
    if (!session.ok()) return session.status();
    const Chain chain =
        ChainOf(*find(PartyRole::kWriter, cell.writer), *find(role, reader));
    const Case* witness = nullptr;
    for (const MatrixWitness& w : out.matrix.witnesses) {
      if (w.name == cell.witness) witness = &w.message;
    }
    CellRun run(chain, options, **session, cell);
    const absl::StatusOr<bool> surprise = run.Run(witness);
    if (!surprise.ok()) return surprise.status();
    if (!*surprise) continue;
    ++out.surprises;
    cell.witness = absl::StrCat("observed-", out.surprises);
    cell.replay = absl::StrCat(
        "--writer=", origins[{PartyRole::kWriter, cell.writer}]->all(),
        gather ? " --gather=" : " --decode=", origins[{role, reader}]->all());
    out.matrix.witnesses.push_back({cell.witness, run.shown(), {i}});
  }
  return out;
}

}  // namespace mlafuzz
