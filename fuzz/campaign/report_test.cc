#include "fuzz/campaign/report.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "corpus/codec.h"
#include "fuzz/campaign/report/page.h"
#include "gtest/gtest.h"
#include "properties/fields.h"

namespace mlafuzz {
namespace {

using Json = nlohmann::ordered_json;

CampaignOptions Options() {
  CampaignOptions options;
  options.engine = {"/nonexistent/engine", "asan+ubsan"};
  options.targets.set_all("mutant:x");
  options.kernels = {"writer"};
  options.out = "/nonexistent/out";
  options.shown_out = "out";
  options.command = "mlafuzz campaign --target=mutant:x";
  options.seed = 7;
  return options;
}

CampaignResult Result() {
  CampaignResult result;
  result.seconds = 2;
  result.totals.cases = 10;
  result.totals.informative = 3;
  result.totals.verdicts[static_cast<std::size_t>(Verdict::kFail)] = 1;
  result.totals.knobs[0] = 4;
  Finding finding;
  finding.failure.set_kernel("writer");
  finding.failure.set_property("nope-tail");
  finding.failure.set_field("writer.tail");
  finding.failure.set_key("writer/writer.tail=TAIL_UNCHANGED");
  // A target's own words may hold any bytes.
  finding.failure.set_cause("because \xff\xfe of \"this\"");
  finding.failure.set_verdict("fail");
  Case c;
  c.mutable_pool()->set_pages(1);
  c.mutable_pool()->set_page_size(1);
  c.add_steps()->mutable_write();
  finding.case_binary = finding.minimal_binary = CanonicalBinary(c);
  finding.case_file = "findings/a/original.txtpb";
  finding.minimal_file = "findings/a/case.txtpb";
  finding.executions_to_find = 12;
  result.findings.Add(finding);
  return result;
}

// Field and type, as readers of a report may rely on them.
void ExpectSchema(const Json& json) {
  struct Wanted {
    const char* name;
    Json::value_t type;
  };
  for (const Wanted& wanted : {
           Wanted{"schema_version", Json::value_t::number_unsigned},
           Wanted{"target", Json::value_t::string},
           Wanted{"backend", Json::value_t::string},
           Wanted{"tier", Json::value_t::string},
           Wanted{"flavour", Json::value_t::string},
           Wanted{"seed", Json::value_t::number_unsigned},
           Wanted{"cases", Json::value_t::number_unsigned},
           Wanted{"distinct_cases", Json::value_t::object},
           Wanted{"seconds", Json::value_t::number_float},
           Wanted{"cases_per_second", Json::value_t::number_float},
           Wanted{"verdicts", Json::value_t::object},
           Wanted{"knobs", Json::value_t::object},
           Wanted{"findings", Json::value_t::array},
           Wanted{"exit_code", Json::value_t::number_unsigned},
           Wanted{"command", Json::value_t::string},
           Wanted{"build", Json::value_t::object},
           Wanted{"power", Json::value_t::object},
           Wanted{"power_table", Json::value_t::array},
           Wanted{"relations", Json::value_t::object},
           Wanted{"skipped", Json::value_t::array},
           Wanted{"summary", Json::value_t::string},
           Wanted{"curve", Json::value_t::array},
           Wanted{"relations_not_tried", Json::value_t::array},
       }) {
    ASSERT_TRUE(json.contains(wanted.name)) << wanted.name;
    EXPECT_EQ(json[wanted.name].type(), wanted.type) << wanted.name;
  }
  for (const char* kernel : {"writer", "gather", "convert"}) {
    EXPECT_TRUE(json["distinct_cases"].contains(kernel)) << kernel;
  }
  EXPECT_TRUE(json["verdicts"].contains("checks"));
  for (int v = 0; v < kVerdictCount; ++v) {
    EXPECT_TRUE(json["verdicts"].contains(VerdictName(static_cast<Verdict>(v))))
        << VerdictName(static_cast<Verdict>(v));
  }
  for (const Json& finding : json["findings"]) {
    for (const char* name : {"id", "kernel", "property", "field", "cause",
                             "case", "minimal_case"}) {
      ASSERT_TRUE(finding.contains(name)) << name;
      EXPECT_TRUE(finding[name].is_string()) << name;
    }
    EXPECT_TRUE(finding["executions_to_find"].is_number_unsigned());
  }
}

TEST(Report, FollowsTheSchema) {
  // As written and read back: through text.
  const std::string text =
      ReportJson(Options(), Result(), BuildInfo())
          .dump(2, ' ', false, Json::error_handler_t::replace);
  const Json json = Json::parse(text);
  ExpectSchema(json);
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["findings"][0]["id"], "writer-tail-tail-unchanged");
  EXPECT_EQ(json["findings"][0]["executions_to_find"], 12);
  EXPECT_EQ(json["cases_per_second"], 5.0);
}

void ExpectMembers(const Json& schema, const Json& object) {
  for (const auto& [name, value] : object.items()) {
    EXPECT_TRUE(schema["properties"].contains(name))
        << name << " is not in docs/report.schema.json";
  }
  for (const Json& name : schema["required"]) {
    EXPECT_TRUE(object.contains(name.get<std::string>()))
        << name << " is in docs/report.schema.json alone";
  }
}

TEST(Report, HasTheMembersOfTheSchemaInDocs) {
  const auto text = ReadFile("docs/report.schema.json");
  ASSERT_TRUE(text.ok()) << text.status();
  const Json schema = Json::parse(*text);
  CampaignResult result = Result();
  result.curve.Finish({});
  result.totals.power_steps.fill(1);
  result.findings.all()[0].reproducers.emplace_back();
  const Json json = ReportJson(Options(), result, BuildInfo());
  ExpectMembers(schema, json);
  for (const char* list :
       {"curve", "power_table", "relations_not_tried", "findings"}) {
    ASSERT_FALSE(json[list].empty()) << list;
    ExpectMembers(schema["properties"][list]["items"], json[list][0]);
  }
  ExpectMembers(schema["properties"]["findings"]["items"]["properties"]
                      ["reproducers"]["items"],
                json["findings"][0]["reproducers"][0]);
}

// Field, share, sampled steps, and the same of cases made for the field.
TEST(Report, PowerTable) {
  CampaignResult result = Result();
  const int tail = FieldNumber("writer.tail");
  result.totals.power_samples = 70;
  result.totals.power_steps[static_cast<std::size_t>(Kernel::kWriter)] = 80;
  result.totals.power[tail] = 20;
  result.totals.made_for[tail] = 40;
  result.totals.made_sampled[tail] = 10;
  result.totals.made_informative[tail] = 9;
  const Json json = ReportJson(Options(), result, BuildInfo());
  const Json* row = nullptr;
  for (const Json& r : json["power_table"]) {
    EXPECT_EQ(r["sampled"], 80) << r["field"];  // of the writer alone
    if (r["field"] == "writer.tail") row = &r;
    if (r["field"] == "writer.nan") {
      EXPECT_EQ(r["share"], 0.0);
      EXPECT_TRUE(r["made_for_share"].is_null());
    }
  }
  ASSERT_NE(row, nullptr);
  EXPECT_EQ((*row)["share"], 0.25);
  EXPECT_EQ((*row)["made_for"], 40);
  EXPECT_EQ((*row)["made_for_sampled"], 10);
  EXPECT_EQ((*row)["made_for_share"], 0.9);
  const std::string text = ReportText(Options(), result, BuildInfo());
  for (const char* words :
       {"(70 cases were sampled)",
        "writer.tail                25.0%       80           40      90.0%",
        "writer.nan                  0.0%       80            0          -",
        "could not have seen: writer.scale, "}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
}

TEST(Report, ListsReproducersWithTheirReliability) {
  CampaignResult result = Result();
  Finding::Reproducer r;
  r.path = "findings/a/repro.cc";
  r.kind = "c++";
  r.verified = true;
  r.failed = r.runs = 3;
  r.words = "built";
  result.findings.all()[0].reproducers.push_back(r);
  const Json json = ReportJson(Options(), result, BuildInfo());
  const Json& made = json["findings"][0]["reproducers"][0];
  EXPECT_EQ(made["path"], "findings/a/repro.cc");
  EXPECT_EQ(made["verified"], true);
  EXPECT_EQ(made["reliability"]["failed"], 3);
  EXPECT_EQ(made["reliability"]["runs"], 3);
}

// Of the kernel under test, and of this machine.
TEST(Report, SaysWhichRelationsWereNotTried) {
  const Json json = ReportJson(Options(), Result(), BuildInfo());
  bool poison = false;
  for (const Json& one : json["relations_not_tried"]) {
    EXPECT_EQ(one["kernel"], "writer");
    EXPECT_NE(one["relation"], "graph-replay");
    poison |= one["relation"] == "two-poison";
  }
  EXPECT_TRUE(poison);
}

TEST(Report, ExitCodes) {
  EXPECT_EQ(ExitCode(Result()), 1);
  CampaignResult nothing;
  EXPECT_EQ(ExitCode(nothing), 3);
  nothing.totals.informative = 1;
  EXPECT_EQ(ExitCode(nothing), 0);
}

// What was not compared is not known to be equal, whatever else is.
TEST(Report, TellsWhatWasNotCompared) {
  CampaignOptions options = Options();
  options.other.emplace().set_all("builtin:y");
  CampaignResult result;
  Totals& totals = result.totals;
  totals.informative = 5;
  totals.not_compared = 1200;
  totals.not_taken = {0, 1200};
  totals.why_not_taken[1] = "b does not take the case: step 0, gather: <x>";
  EXPECT_EQ(ExitCode(result), 3);
  EXPECT_EQ(SummaryLine(result),
            "nothing was compared: of 1,200 cases none was taken by both "
            "targets");
  totals.compared = 34;
  EXPECT_EQ(ExitCode(result), 0);
  EXPECT_EQ(SummaryLine(result),
            "nothing found; 1,200 of 1,234 cases were not compared");
  const std::string text = ReportText(options, result, BuildInfo());
  EXPECT_NE(text.find("not compared: 1,200 of 1,234 cases\n  1,200 that b did "
                      "not take, the first: b does not take the case: step 0, "
                      "gather: <x>\n"),
            std::string::npos)
      << text;
  const Json json = ReportJson(options, result, BuildInfo());
  EXPECT_EQ(json["comparison"]["compared"], 34);
  EXPECT_EQ(json["comparison"]["not_compared"], 1200);
  EXPECT_EQ(json["comparison"]["not_taken"][1]["target"], "builtin:y");
  EXPECT_EQ(json["comparison"]["not_taken"][1]["cases"], 1200);
  const std::string page = ReportPage(json, {});
  EXPECT_NE(page.find("cases that were not compared: 1,200 of 1,234"),
            std::string::npos);
  EXPECT_NE(page.find("gather: &lt;x&gt;"), std::string::npos);
  // A campaign of one target has none.
  EXPECT_FALSE(
      ReportJson(Options(), result, BuildInfo()).contains("comparison"));
}

// A cause that is not the only one is not passed off as one.
TEST(Report, SaysHowSureACauseIs) {
  CampaignResult result = Result();
  Finding& finding = result.findings.all()[0];
  finding.settled = true;
  finding.heard = 31;
  finding.alike = 4;
  std::string text = ReportText(Options(), result, BuildInfo());
  EXPECT_NE(text.find("cause settled by 31 further cases, 4 of which fail by"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("one of: "), std::string::npos);
  finding.failure.add_also("writer/other=X");
  text = ReportText(Options(), result, BuildInfo());
  EXPECT_NE(text.find("one of: writer/writer.tail=TAIL_UNCHANGED, "
                      "writer/other=X"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("cause not settled by 31"), std::string::npos);
  const Json json = ReportJson(Options(), result, BuildInfo());
  EXPECT_EQ(json["findings"][0]["cause_may_be"],
            Json::array({"writer/other=X"}));
}

TEST(Report, TextNamesWhatMatters) {
  const std::string text = ReportText(Options(), Result(), BuildInfo());
  for (const char* word :
       {"1 finding", "mutant:x", "asan+ubsan", "tier host", "nope-tail",
        "writer.tail", "minimal case:", "steps {",
        "mlafuzz replay out/findings/a/case.txtpb --target=mutant:x",
        "value classes never exercised: "}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  }
}

// Whatever moment the writer is killed at, a report that is there is whole; and
// where report.json is, all are.
TEST(Reports, AreWholeWhereverTheWriterIsKilled) {
  CampaignOptions options = Options();
  options.out = testing::TempDir() + "/reports";
  const CampaignResult result = Result();
  int complete = 0, cut = 0;
  for (int round = 0; round < 60; ++round) {
    std::filesystem::remove_all(options.out);
    std::filesystem::create_directories(options.out);
    const pid_t child = fork();
    if (child == 0) {
      _exit(WriteReports(options, result).ok() ? 0 : 1);
    }
    usleep(static_cast<useconds_t>(round * 400));
    kill(child, SIGKILL);
    int ended = 0;
    ASSERT_EQ(waitpid(child, &ended, 0), child);
    int whole = 0;
    for (const auto& [name, end] :
         std::map<std::string, std::string>{{"report.json", "}\n"},
                                            {"report.sarif", "}\n"},
                                            {"report.html", "</html>\n"},
                                            {"junit.xml", "</testsuites>\n"},
                                            {"summary.md", "\n"},
                                            {"report.txt", "\n"}}) {
      const auto text = ReadFile(options.out + "/" + name);
      if (!text.ok()) continue;
      ++whole;
      ASSERT_GE(text->size(), end.size()) << name;
      EXPECT_EQ(text->substr(text->size() - end.size()), end) << name;
      if (end == "}\n") {
        EXPECT_TRUE(Json::accept(*text)) << name;
      }
    }
    const bool last = std::filesystem::exists(options.out + "/report.json");
    EXPECT_EQ(last, whole == 6) << whole;
    ++(last ? complete : cut);
  }
  // Both were met, or nothing was tested.
  EXPECT_GT(complete, 0);
  EXPECT_GT(cut, 0);
  std::printf("%d complete, %d cut\n", complete, cut);
}

}  // namespace
}  // namespace mlafuzz
