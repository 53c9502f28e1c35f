#include "fuzz/campaign/report/sample_report.h"

#include <string>

namespace mlafuzz {

nlohmann::ordered_json SampleReport() {
  const std::string hostile =
      "<script>alert(\"1\")</script> & | `x` \xff\n]]>--> '";
  nlohmann::ordered_json report = {
      {"schema_version", 1},
      {"summary", "2 findings"},
      {"target", "lib:/x/" + hostile},
      {"tier", "host"},
      {"flavour", "plain"},
      {"seed", 7},
      {"exit_code", 1},
      {"command", "mlafuzz campaign " + hostile},
      {"kernels", {"writer", "gather"}},
      {"jobs", 1},
      {"cases", 1000},
      {"seconds", 2.5},
      {"error", ""},
      {"verdicts", {{"checks", 100}, {"pass", 98}, {"fail", 2}, {"hang", 0}}},
      {"knobs", {{"slots/last", 3}, {"slots/never", 0}}},
      {"power_samples", 40},
      {"coverage", 12},
      {"relations", {{"two-poison", 0}, {"negation", 4}}},
      {"skipped", {"convert: not under test"}},
      {"notes", {hostile}},
      {"incidents", {hostile}},
      {"build", {{"compiler", "clang"}, {"kernel_flags", "-O2"}}},
  };
  report["curve"] = nlohmann::ordered_json::array();
  for (int i = 0; i < 3; ++i) {
    report["curve"].push_back({{"seconds", i},
                               {"cases", 500 * i},
                               {"coverage", 10 + i},
                               {"findings", i}});
  }
  report["relations_not_tried"] = nlohmann::ordered_json::array();
  report["relations_not_tried"].push_back(
      {{"kernel", "writer"}, {"relation", "two-poison"}});
  report["power_table"] = nlohmann::ordered_json::array();
  for (const char* field : {"writer.tail", "writer.nan"}) {
    report["power_table"].push_back(
        {{"field", field},
         {"share", field == std::string("writer.tail") ? 0.25 : 0.0},
         {"sampled", 40},
         {"made_for", 3},
         {"made_for_share", nullptr}});
  }
  report["findings"] = nlohmann::ordered_json::array();
  for (const char* id : {"writer-tail", "gather-crash"}) {
    const bool crash = id == std::string("gather-crash");
    report["findings"].push_back(
        {{"id", id},
         {"kernel", crash ? "gather" : "writer"},
         {"property", crash ? "memory-safety" : "nope-tail"},
         {"cause", "because " + hostile},
         {"cause_key", crash ? "gather/crash/" + hostile
                             : "writer/writer.tail=TAIL_UNCHANGED"},
         {"cause_may_be", {hostile}},
         {"verdict", crash ? "crash" : "fail"},
         {"detail", "detail " + hostile},
         {"case", std::string("findings/") + id + "/case.txtpb"},
         {"minimal_case", ""},
         {"minimal_text", "pool {}"},
         {"executions_to_find", 12},
         {"cases_to_find", 3},
         {"seconds_to_find", 0.5},
         {"repeats", 4},
         {"reruns", 3},
         {"reruns_failed_alike", 3},
         {"note", hostile},
         {"shapes",
          {{{"cause_key", hostile},
            {"property", hostile},
            {"cause", hostile},
            {"case", std::string("findings/") + id + "/shape-x.txtpb"}}}},
         {"evidence_note", ""},
         {"replay", "mlafuzz replay " + hostile},
         {"reproducers", nlohmann::ordered_json::array()}});
  }
  return report;
}

Evidence SampleEvidence() {
  Evidence evidence;
  evidence.set_kernel("writer");
  evidence.set_ended("ok");
  evidence.set_should_end("ok");
  Evidence::Buffer& cache = *evidence.add_buffers();
  cache.set_name("cache");
  cache.set_dtype("u8");
  for (const int size : {1, 2, 656}) cache.add_shape(size);
  for (const int stride : {1312, 656, 1}) cache.add_strides(stride);
  cache.set_before(std::string(1312, '\xa5'));
  cache.set_got(cache.before());
  std::string expected = cache.before();
  expected.replace(1312 - 128, 128, std::string(128, '\0'));
  cache.set_expected(expected);
  Evidence::Range& wrong = *cache.add_wrong();
  wrong.set_begin(1312 - 128);
  wrong.set_end(1312);
  return evidence;
}

}  // namespace mlafuzz
