#include "fuzz/command/matrix_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "corpus/codec.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

constexpr CellVerdict kVerdicts[] = {
    CellVerdict::kAgree, CellVerdict::kDisagree, CellVerdict::kRefused,
    CellVerdict::kNotComputed};

const char* Symbol(CellVerdict verdict) {
  switch (verdict) {
    case CellVerdict::kAgree:
      return "=";
    case CellVerdict::kDisagree:
      return "X";
    case CellVerdict::kRefused:
      return "-";
    case CellVerdict::kNotComputed:
      return "?";
  }
  return "";
}

// A gather and a reader behind it are no column: no reader takes what a gather
// leaves, which a line says.
bool IsLongChain(const Cell& cell) {
  return cell.gather != kNobody && cell.reader != kNobody;
}

std::string ColumnOf(const Cell& cell) {
  return cell.reader != kNobody ? cell.reader : cell.gather;
}

Json PartyJson(const MatrixParty& party) {
  Json json = {{"name", party.name},
               {"what", party.what},
               {"layout", party.format->name}};
  if (party.leaves != nullptr) json["leaves"] = party.leaves->name;
  return json;
}

Json PartiesJson(const Matrix& matrix, PartyRole role) {
  Json parties = Json::array();
  if (role != PartyRole::kWriter) {
    parties.push_back({{"name", kNobody}, {"what", "nobody"}});
  }
  for (const MatrixParty& party : matrix.parties) {
    if (party.role == role) parties.push_back(PartyJson(party));
  }
  return parties;
}

}  // namespace

std::string ChainName(const Cell& cell) {
  return absl::StrCat(cell.writer, ",", cell.gather, ",", cell.reader);
}

std::string WitnessFile(const MatrixWitness& witness) {
  return absl::StrCat(witness.name, ".txtpb");
}

std::string MatrixText(const Matrix& matrix) {
  std::vector<std::string> columns;
  std::vector<std::string> writers;
  std::vector<std::string> fields;
  std::map<std::pair<std::string, std::string>, const Cell*> at;
  std::map<CellVerdict, int> totals;
  std::map<CellVerdict, int> long_totals;
  const auto number = [](std::vector<std::string>& list,
                         const std::string& item) {
    const auto found = std::find(list.begin(), list.end(), item);
    if (found != list.end()) return found - list.begin();
    list.push_back(item);
    return static_cast<std::ptrdiff_t>(list.size()) - 1;
  };
  // Readers come first, as in no cell's order.
  for (const PartyRole role : {PartyRole::kReader, PartyRole::kGather}) {
    for (const MatrixParty& party : matrix.parties) {
      if (party.role == role) columns.push_back(party.name);
    }
  }
  for (const Cell& cell : matrix.cells) {
    ++totals[cell.verdict];
    if (IsLongChain(cell)) {
      ++long_totals[cell.verdict];
      continue;
    }
    number(writers, cell.writer);
    at[{cell.writer, ColumnOf(cell)}] = &cell;
  }
  std::size_t width = 0;
  for (const std::string& writer : writers) {
    width = std::max(width, writer.size());
  }
  const int w = static_cast<int>(width);
  std::string text = absl::StrFormat("%-*s", w, "");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    absl::StrAppendFormat(&text, " %-4s", absl::StrCat("r", i + 1));
  }
  absl::StrAppend(&text, "\n");
  for (const std::string& writer : writers) {
    absl::StrAppendFormat(&text, "%-*s", w, writer);
    for (const std::string& column : columns) {
      const auto found = at.find({writer, column});
      std::string cell = ".";
      if (found != at.end()) {
        const Cell& c = *found->second;
        cell = Symbol(c.verdict);
        if (!c.field.empty() && c.field != "layout") {
          absl::StrAppend(&cell, number(fields, c.field) + 1);
        }
      }
      absl::StrAppendFormat(&text, " %-4s", cell);
    }
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text, "\n");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto party = std::find_if(
        matrix.parties.begin(), matrix.parties.end(), [&](const auto& p) {
          return p.role != PartyRole::kWriter && p.name == columns[i];
        });
    absl::StrAppendFormat(&text, "%-4s %s %s (%s): %s\n",
                          absl::StrCat("r", i + 1), PartyRoleName(party->role),
                          columns[i], party->format->name, party->what);
  }
  absl::StrAppend(
      &text,
      "\n=  agree: what the reader makes of the rows is what they mean\n"
      "X  disagree, by the rule numbered below\n"
      "-  refused: another layout, or the check numbered below\n"
      "?  not computed: no oracle for that layout, or no case with power\n");
  for (std::size_t i = 0; i < fields.size(); ++i) {
    absl::StrAppendFormat(&text, "%-2d %s\n", i + 1, fields[i]);
  }
  if (!long_totals.empty()) {
    absl::StrAppend(&text, "a gather with a reader behind it:");
    for (const auto& [verdict, count] : long_totals) {
      absl::StrAppend(&text, " ", count, " ", CellVerdictName(verdict), ";");
    }
    absl::StrAppend(&text, " readers take cache rows, gathers leave others\n");
  }
  absl::StrAppend(&text, "in all");
  for (const CellVerdict verdict : kVerdicts) {
    absl::StrAppend(&text, verdict == CellVerdict::kAgree ? " " : ", ",
                    totals[verdict], " ", CellVerdictName(verdict));
  }
  absl::StrAppend(&text, "; ", matrix.witnesses.size(), " witnesses\n");
  return text;
}

Json MatrixJson(const Matrix& matrix, const std::string& folder) {
  Json json = {{"schema_version", 1},
               {"writers", PartiesJson(matrix, PartyRole::kWriter)},
               {"gathers", PartiesJson(matrix, PartyRole::kGather)},
               {"readers", PartiesJson(matrix, PartyRole::kReader)},
               {"cells", Json::array()},
               {"witnesses", Json::array()}};
  for (const Cell& cell : matrix.cells) {
    Json informative = Json::object();
    for (const auto& [field, shown] : cell.informative) {
      informative[field] = shown;
    }
    json["cells"].push_back({{"writer", cell.writer},
                             {"gather", cell.gather},
                             {"reader", cell.reader},
                             {"verdict", CellVerdictName(cell.verdict)},
                             {"field", cell.field},
                             {"witness", cell.witness},
                             {"replay", cell.replay},
                             {"reason", cell.reason},
                             {"cases", cell.cases},
                             {"informative", informative}});
  }
  for (const MatrixWitness& witness : matrix.witnesses) {
    json["witnesses"].push_back(
        {{"name", witness.name},
         {"file", folder.empty()
                      ? ""
                      : absl::StrCat(folder, "/", WitnessFile(witness))},
         {"case", FormatCaseText(witness.message)}});
  }
  return json;
}

std::string WitnessText(const Matrix& matrix, const MatrixWitness& witness,
                        const std::string& folder) {
  std::string text;
  for (const std::size_t index : witness.cells) {
    const Cell& cell = matrix.cells[index];
    absl::StrAppend(&text, "# ", cell.writer, " read by ", ColumnOf(cell), ": ",
                    cell.reason, "\n");
    if (cell.replay.empty()) continue;
    absl::StrAppend(&text, "#   mlafuzz replay ", folder, "/",
                    WitnessFile(witness), " ", cell.replay, "\n");
  }
  return absl::StrCat(text, FormatCaseText(witness.message));
}

}  // namespace mlafuzz
