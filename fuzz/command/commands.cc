#include "fuzz/command/commands.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/report/markup.h"

namespace mlafuzz {
namespace {

std::string Usage(const Command& command) {
  std::string text = absl::StrCat(
      "usage: mlafuzz ", command.name, " ", command.positional,
      *command.positional ? " " : "", "[flags]\n\n", command.what, "\n\n");
  for (const Flag& flag : command.flags) {
    if (flag.hidden) continue;
    const std::string name =
        flag.value == nullptr ? absl::StrCat("--", flag.name)
                              : absl::StrCat("--", flag.name, "=", flag.value);
    absl::StrAppendFormat(&text, "  %-36s %s\n", name, flag.what);
  }
  return text;
}

std::string Overview() {
  std::string text =
      "mlafuzz: differential fuzzing of kernels that write, gather and read "
      "paged FP8 MLA caches\n\nusage: mlafuzz COMMAND [flags]\n\n";
  for (const Command& command : AllCommands()) {
    absl::StrAppendFormat(&text, "  %-10s %s\n", command.name, command.what);
  }
  absl::StrAppend(
      &text,
      "\n`mlafuzz COMMAND --help` lists a command's flags.\n"
      "exit codes: 0 nothing found, 1 a failure, 2 usage or environment, 3 "
      "nothing was informative\n");
  return text;
}

}  // namespace

int UsageError(absl::string_view message) {
  // It may quote files: a NUL would end it, and terminals obey escapes.
  std::fprintf(stderr, "mlafuzz: %s\n", ShownText(message).c_str());
  return kExitUsage;
}

const std::vector<Command>& AllCommands() {
  static const auto* commands = new std::vector<Command>{
      CampaignCommand(),  ReplayCommand(), ExplainCommand(),
      MinimizeCommand(),  DiffCommand(),   TargetsCommand(),
      ContractsCommand(), InferCommand(),  BenchCommand(),
      AbCommand(),        PowerCommand(),  LedgerCommand(),
      SelftestCommand(),  UnitCommand(),   MergeCommand(),
      CorpusCommand(),    ImportCommand(), NightlyCommand()};
  return *commands;
}

namespace {

// Standard output is a pipe that nobody reads any more.
bool ReaderIsGone() {
  struct stat status = {};
  if (fstat(STDOUT_FILENO, &status) != 0 || !S_ISFIFO(status.st_mode)) {
    return false;
  }
  pollfd out = {STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

// What else somebody may have meant by one.
const char* InsteadOfArguments(absl::string_view command) {
  if (command == "campaign") {
    return "; to run stored cases use --corpus=DIR or `mlafuzz replay`";
  }
  if (command == "infer" || command == "power") {
    return "; name a kernel with --target";
  }
  if (command == "targets") return "; look at one with --check";
  return "";
}

int Run(const std::vector<std::string>& typed) {
  if (typed.empty()) {
    std::fputs(Overview().c_str(), stderr);
    return kExitUsage;
  }
  const std::string& name = typed[0];
  const bool help = name == "help" || name == "--help" || name == "-h";
  if (help && typed.size() == 1) {
    std::fputs(Overview().c_str(), stdout);
    return kExitNothingFound;
  }
  const std::string& wanted = help ? typed[1] : name;
  for (const Command& command : AllCommands()) {
    if (wanted != command.name) continue;
    bool show = help;
    for (const std::string& word : typed) {
      if (word == "--") break;
      show |= word == "--help" || word == "-h";
    }
    if (show) {
      std::fputs(Usage(command).c_str(), stdout);
      return kExitNothingFound;
    }
    const auto arguments =
        Arguments::Parse({typed.begin() + 1, typed.end()}, command.flags);
    if (!arguments.ok()) {
      return UsageError(
          absl::StrCat(command.name, ": ", arguments.status().message()));
    }
    if (*command.positional == '\0' && !arguments->positional().empty()) {
      return UsageError(absl::StrCat(
          command.name, ": takes no argument, got \"",
          arguments->positional()[0], "\"", InsteadOfArguments(command.name)));
    }
    std::string line = "mlafuzz";
    for (const std::string& word : typed) {
      absl::StrAppend(&line, " ", ShellWord(word));
    }
    return command.run(*arguments, line);
  }
  std::vector<std::string> known = {"help"};
  for (const Command& command : AllCommands()) known.push_back(command.name);
  const std::string near = Nearest(wanted, known);
  return UsageError(absl::StrCat(
      "unknown command ", wanted,
      near.empty() ? absl::StrCat("; known: ", absl::StrJoin(known, ", "))
                   : absl::StrCat("; nearest: ", near)));
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& typed) {
  const int code = Run(typed);
  // What nobody could read has not been said: never a success. A reader that
  // went away, `head` say, has read what it wanted.
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return code;
  if (ReaderIsGone()) return code;
  const std::string why =
      flushed ? "" : absl::StrCat(": ", std::strerror(errno));
  return UsageError(absl::StrCat(
      "cannot write to standard output", why,
      "; nothing that was found is lost: a campaign's report and cases are in "
      "its output folder; else run it again with the output elsewhere"));
}

}  // namespace mlafuzz
