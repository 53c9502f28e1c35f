#include "fuzz/campaign/ledger_file.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

// A field of `json` of the type of `like`; null: there is none.
const Json* Field(const Json& json, const char* name, const Json& like) {
  if (!json.is_object()) return nullptr;
  const auto it = json.find(name);
  if (it == json.end()) return nullptr;
  const bool fits = like.is_number()   ? it->is_number_unsigned()
                    : like.is_string() ? it->is_string()
                                       : it->is_array();
  return fits ? &*it : nullptr;
}

}  // namespace

absl::StatusOr<Json> ReadLedgerResult(absl::string_view text,
                                      absl::string_view name) {
  const auto no = [name](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": ", why, "; write one with `mlafuzz ledger --json=FILE`"));
  };
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return no("is no JSON, or was cut");
  const Json* const version = Field(json, "schema_version", 1u);
  const Json* const flavour = Field(json, "flavour", "");
  const Json* const seeds = Field(json, "seeds", 1u);
  const Json* const mutants = Field(json, "mutants", Json::array());
  const Json* const controls = Field(json, "controls", Json::array());
  if (version == nullptr || *version != 1 || flavour == nullptr ||
      seeds == nullptr || mutants == nullptr || controls == nullptr) {
    return no("is no result of a ledger that this version knows");
  }
  Json shown = {{"file", std::string(name)},
                {"flavour", *flavour},
                {"seeds", *seeds},
                {"wrong", Json::array()},
                {"right", Json::array()}};
  const auto interrupted = json.find("interrupted");
  if (interrupted != json.end() && interrupted->is_boolean() &&
      interrupted->get<bool>()) {
    shown["interrupted"] = true;
  }
  if (mutants->empty() && controls->empty()) {
    return no("holds no kernel: that ledger ran nothing");
  }
  for (std::size_t i = 0; i < mutants->size(); ++i) {
    const Json& mutant = (*mutants)[i];
    const Json* const engines = Field(mutant, "engines", Json::array());
    if (engines == nullptr || engines->empty()) {
      return no(absl::StrCat("mutants[", i, "] was run by no engine"));
    }
    Json one;
    for (const char* field : {"id", "kernel"}) {
      const Json* const value = Field(mutant, field, "");
      if (value == nullptr) {
        return no(absl::StrCat("mutants[", i, "] has no ", field));
      }
      one[field] = *value;
    }
    const Json& engine = (*engines)[0];
    for (const char* field : {"seeds", "detected", "triggered"}) {
      const Json* const value = Field(engine, field, 1u);
      if (value == nullptr) {
        return no(absl::StrCat("mutants[", i, "].engines[0] has no ", field));
      }
      one[field] = *value;
    }
    for (const char* field : {"weak", "cause"}) {
      const Json* const value = Field(engine, field, "");
      if (value == nullptr) {
        return no(absl::StrCat("mutants[", i, "].engines[0] has no ", field));
      }
      one[field] = *value;
    }
    const auto count = [&one](const char* field) {
      return one[field].get<std::uint64_t>();
    };
    if (count("seeds") > seeds->get<std::uint64_t>() ||
        count("triggered") > count("seeds") ||
        count("detected") > count("seeds")) {
      return no(absl::StrCat(
          "mutants[", i, "].engines[0] has ", count("triggered"),
          " triggered and ", count("detected"), " detected of ", count("seeds"),
          " seeds, in a ledger of ", seeds->get<std::uint64_t>()));
    }
    shown["wrong"].push_back(std::move(one));
  }
  for (std::size_t i = 0; i < controls->size(); ++i) {
    const Json& control = (*controls)[i];
    const Json* const id = Field(control, "id", "");
    const Json* const cases = Field(control, "cases", 1u);
    const Json* const alarms = Field(control, "false_alarms", 1u);
    if (id == nullptr || cases == nullptr || alarms == nullptr) {
      return no(absl::StrCat("controls[", i, "] is no right kernel's"));
    }
    if (alarms->get<std::uint64_t>() > cases->get<std::uint64_t>()) {
      return no(absl::StrCat("controls[", i,
                             "] has more false alarms than "
                             "cases"));
    }
    shown["right"].push_back(
        {{"id", *id}, {"cases", *cases}, {"false_alarms", *alarms}});
  }
  return shown;
}

}  // namespace mlafuzz
