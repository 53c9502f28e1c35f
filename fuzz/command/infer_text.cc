#include "fuzz/command/infer_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace mlafuzz {
namespace {

const char* StateText(InferredField::State state) {
  switch (state) {
    case InferredField::CONFIRMED:
      return "confirmed";
    case InferredField::DIFFERS:
      return "DIFFERS";
    case InferredField::UNDECIDED:
      return "undecided";
    case InferredField::UNEXPLAINED:
      return "UNEXPLAINED";
    case InferredField::SUGGESTED:
      return "suggested";
    default:
      return "?";
  }
}

const char* StateText(InferredCheck::State state) {
  switch (state) {
    case InferredCheck::CONFIRMED:
      return "confirmed";
    case InferredCheck::NOT_REFUSED:
      return "NOT REFUSED";
    case InferredCheck::UNDECLARED:
      return "refused, not declared";
    case InferredCheck::ABSENT:
      return "not refused, not declared";
    case InferredCheck::NOT_CHECKED:
      return "not checked";
    default:
      return "?";
  }
}

// "24 of 24; POW2_CEIL 3".
std::string Evidence(const InferredField& field) {
  std::string text = absl::StrCat(field.explained(), " of ", field.probes());
  if (!field.next_value().empty()) {
    absl::StrAppend(&text, "; ", field.next_value(), " ", field.next_best());
  }
  return text;
}

std::string FieldLine(const InferredField& field) {
  std::string state = StateText(field.state());
  if (field.state() == InferredField::DIFFERS ||
      field.state() == InferredField::SUGGESTED) {
    absl::StrAppend(&state, ", declared ", field.declared());
  }
  if (field.equal_size() > 1) {
    absl::StrAppend(&state, " (also ", absl::StrJoin(field.equal(), ", "), ")");
  }
  std::string line = absl::StrFormat("  %-26s %-26s %-44s %s\n", field.field(),
                                     field.inferred(), Evidence(field), state);
  if (!field.note().empty()) {
    absl::StrAppend(&line, "      ", field.note(), "\n");
  }
  return line;
}

void AppendFields(
    const char* title, const char* unit,
    const google::protobuf::RepeatedPtrField<InferredField>& fields,
    std::string* text) {
  if (fields.empty()) return;
  absl::StrAppendFormat(text, "  %-26s %-26s %-44s %s\n", title, "behaves like",
                        absl::StrCat(unit, " explained; next best"), "state");
  for (const InferredField& field : fields) {
    absl::StrAppend(text, FieldLine(field));
  }
}

void AppendKernel(const InferredKernel& kernel, std::string* text) {
  absl::StrAppend(text, kernel.kernel(), " of ", kernel.target(), ": ",
                  kernel.probes(), " probes, ", kernel.explained_as_declared(),
                  " explained as declared");
  if (kernel.explained() != kernel.explained_as_declared()) {
    absl::StrAppend(text, ", ", kernel.explained(), " as found");
  }
  if (kernel.not_judged() > 0) {
    absl::StrAppend(text, " (", kernel.not_judged(),
                    " not judged: left to the caller, or not implemented)");
  }
  absl::StrAppend(text, "; ", kernel.executions(), " calls\n");
  AppendFields("field", "probes", kernel.fields(), text);
  AppendFields("arithmetic", "output words", kernel.arithmetic(), text);
  if (!kernel.host_checks().empty()) {
    absl::StrAppendFormat(text, "  %-53s %-44s %s\n", "host check",
                          "misuses refused", "state");
  }
  for (const InferredCheck& check : kernel.host_checks()) {
    absl::StrAppendFormat(
        text, "  %-53s %-44s %s%s\n", check.check(),
        absl::StrCat(check.refused(), " of ", check.tried()),
        StateText(check.state()),
        check.note().empty() ? "" : absl::StrCat(": ", check.note()));
  }
  if (!kernel.unexplained().empty()) {
    absl::StrAppend(text, "  ",
                    kernel.probes() - kernel.explained() - kernel.not_judged(),
                    " probes are explained by nothing tried; the first: ",
                    kernel.unexplained(), "\n");
  }
  absl::StrAppend(text, "\n");
}

}  // namespace

std::vector<std::string> Contradictions(const InferResult& result) {
  std::vector<std::string> all;
  for (const InferredKernel& kernel : result.kernels()) {
    const auto differs = [&](const InferredField& field) {
      if (field.state() != InferredField::DIFFERS) return;
      all.push_back(absl::StrCat(kernel.target(), " declares ", field.field(),
                                 " ", field.declared(), ", behaves like ",
                                 field.inferred()));
    };
    for (const InferredField& field : kernel.fields()) differs(field);
    for (const InferredField& field : kernel.arithmetic()) differs(field);
    for (const InferredCheck& check : kernel.host_checks()) {
      if (check.state() != InferredCheck::NOT_REFUSED) continue;
      all.push_back(absl::StrCat(kernel.target(), " declares ", check.check(),
                                 ", refuses ", check.refused(), " of ",
                                 check.tried(), " misuses"));
    }
  }
  return all;
}

bool AnyJudged(const InferResult& result) {
  return std::any_of(result.kernels().begin(), result.kernels().end(),
                     [](const InferredKernel& kernel) {
                       return kernel.not_judged() < kernel.probes();
                     });
}

std::string InferText(const InferResult& result) {
  std::string text;
  for (const InferredKernel& kernel : result.kernels()) {
    AppendKernel(kernel, &text);
  }
  for (const std::string& sentence : Contradictions(result)) {
    absl::StrAppend(&text, sentence, "\n");
  }
  if (!AnyJudged(result)) {
    absl::StrAppend(&text,
                    "nothing was judged, so this says nothing of the kernel\n");
  }
  absl::StrAppend(&text, "a description that says what was found:\n\n",
                  result.description());
  return text;
}

}  // namespace mlafuzz
