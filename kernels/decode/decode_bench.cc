// Time of one decode of one query and head on the host, without a judge.
#include <cstdio>
#include <ctime>

#include "kernels/decode/decode.h"
#include "kernels/decode/test_support.h"

int main() {
  using mlafuzz::CompiledDecode;
  for (std::int64_t width : {1, 16, 64, 512, 2048}) {
    const mlafuzz::test::Problem problem =
        mlafuzz::test::RandomProblem(1, 1, 1, width);
    for (const CompiledDecode& compiled : mlafuzz::BuiltinDecodes()) {
      int calls = 0;
      double passed = 0;  // seconds of this process, whatever else runs
      const std::clock_t start = std::clock();
      do {
        mlafuzz::test::Run(problem, compiled.decode);
        ++calls;
        passed = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      } while (passed < 0.5);
      std::printf("%5lld keys  %-24s %9.1f us\n", static_cast<long long>(width),
                  compiled.name, passed / calls * 1e6);
    }
  }
}
