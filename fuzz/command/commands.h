#ifndef MLAFUZZ_FUZZ_COMMAND_COMMANDS_H_
#define MLAFUZZ_FUZZ_COMMAND_COMMANDS_H_

#include <string>
#include <vector>

#include "fuzz/command/arguments.h"

namespace mlafuzz {

// Exit codes of the program.
inline constexpr int kExitNothingFound = 0;
inline constexpr int kExitFound = 1;
inline constexpr int kExitUsage = 2;  // or an environment that does not do
inline constexpr int kExitUninformative = 3;

struct Command {
  const char* name;
  const char* positional;  // "CASE..."
  const char* what;        // one line
  std::vector<Flag> flags;
  int (*run)(const Arguments& arguments, const std::string& typed);
};

Command CampaignCommand();
Command ReplayCommand();
Command ExplainCommand();
Command MinimizeCommand();
Command DiffCommand();
Command TargetsCommand();
Command BenchCommand();
Command AbCommand();
Command PowerCommand();
Command LedgerCommand();
// What is wrong with words that `mlafuzz ledger` would be started with; runs
// nothing.
absl::Status CheckLedgerWords(const std::vector<std::string>& words);
Command SelftestCommand();
Command InferCommand();
Command ContractsCommand();
Command UnitCommand();
Command MergeCommand();
Command CorpusCommand();
Command ImportCommand();
Command NightlyCommand();

const std::vector<Command>& AllCommands();

// "mlafuzz: MESSAGE" on stderr; kExitUsage.
int UsageError(absl::string_view message);
inline int UsageError(const absl::Status& status) {
  return UsageError(status.message());
}

// The whole program: argv[1..] as typed.
int RunCommandLine(const std::vector<std::string>& typed);

}  // namespace mlafuzz

#endif  // MLAFUZZ_FUZZ_COMMAND_COMMANDS_H_
