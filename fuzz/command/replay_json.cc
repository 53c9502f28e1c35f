#include "fuzz/command/replay_json.h"

namespace mlafuzz {

nlohmann::ordered_json ReplayJson(const std::string& path, const CaseRun& run,
                                  const std::string& not_of_these_kernels) {
  using Json = nlohmann::ordered_json;
  Json json = {{"case", path}, {"checks", Json::array()}};
  for (const CaseRun::Line& check : run.lines()) {
    json["checks"].push_back({{"step", check.step()},
                              {"kernel", check.kernel()},
                              {"property", check.property()},
                              {"verdict", check.verdict()},
                              {"detail", check.detail()}});
  }
  json["failures"] = Json::array();
  for (const Failure& failure : run.failures()) {
    json["failures"].push_back({{"step", failure.step()},
                                {"kernel", failure.kernel()},
                                {"property", failure.property()},
                                {"verdict", failure.verdict()},
                                {"field", failure.field()},
                                {"cause_key", failure.key()},
                                {"cause", failure.cause()},
                                {"detail", failure.detail()}});
  }
  json["runs"] = run.runs();
  json["failed_runs"] = run.failed_runs();
  json["error"] = run.error();
  json["not_of_these_kernels"] = not_of_these_kernels;
  return json;
}

}  // namespace mlafuzz
