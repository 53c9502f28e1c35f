#include "kernels/sanitizer_hooks.h"

#include <cctype>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "kernels/ubsan_places.h"

extern "C" {
__attribute__((weak)) void __asan_set_error_report_callback(
    void (*callback)(const char*));
__attribute__((weak)) void __ubsan_get_current_report_data(
    const char** kind, const char** message, const char** file, unsigned* line,
    unsigned* column, char** address);
// Called by UBSan's runtime for each report; its own definition is weak.
void __ubsan_on_report();
}

namespace mlafuzz {
namespace {

std::vector<std::string>* collected = nullptr;

void Collect(std::string line) {
  if (collected != nullptr && collected->size() < SanitizerReports::kMost) {
    collected->push_back(std::move(line));
  }
}

// Numbers like 0x7f31c0 differ from run to run, which would make two reports
// of one fault look different.
std::string WithoutAddresses(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "0x") == 0) {
      out += "0x*";
      i += 2;
      while (i < text.size() &&
             std::isxdigit(static_cast<unsigned char>(text[i]))) {
        ++i;
      }
    } else {
      out += text[i++];
    }
  }
  return out;
}

// From `begin` to the end of the line, or to `stop` if that comes before.
std::string LineFrom(const std::string& text, std::size_t begin,
                     const char* stop = nullptr) {
  std::size_t end = text.find('\n', begin);
  if (end == std::string::npos) end = text.size();
  if (stop != nullptr) {
    const std::size_t at = text.find(stop, begin);
    if (at < end) end = at;
  }
  return text.substr(begin, end - begin);
}

void OnAsanReport(const char* report) { Collect(SummariseAsanReport(report)); }

}  // namespace

SanitizerReports::SanitizerReports(std::vector<std::string>* reports) {
  collected = reports;
  LetUbsanPlacesReportAgain();
  static bool installed = false;
  if (!installed && __asan_set_error_report_callback != nullptr) {
    __asan_set_error_report_callback(OnAsanReport);
    installed = true;
  }
}

SanitizerReports::~SanitizerReports() { collected = nullptr; }

std::string SummariseAsanReport(const std::string& report) {
  static constexpr char kName[] = "AddressSanitizer: ";
  const std::size_t name = report.find(kName);
  if (name == std::string::npos) return WithoutAddresses(LineFrom(report, 0));
  std::string line = LineFrom(report, name, " on ");
  for (const char* access : {"READ of size ", "WRITE of size "}) {
    const std::size_t at = report.find(access);
    if (at == std::string::npos) continue;
    absl::StrAppend(&line, ": ", LineFrom(report, at, " at "));
    break;
  }
  const std::size_t frame = report.find("#0 ");
  if (frame != std::string::npos) {
    const std::size_t in = report.find(" in ", frame);
    if (in != std::string::npos) absl::StrAppend(&line, LineFrom(report, in));
  }
  return WithoutAddresses(line);
}

}  // namespace mlafuzz

void __ubsan_on_report() {
  if (__ubsan_get_current_report_data == nullptr) return;
  const char* kind = nullptr;
  const char* message = nullptr;
  const char* file = nullptr;
  unsigned line = 0;
  unsigned column = 0;
  char* address = nullptr;
  __ubsan_get_current_report_data(&kind, &message, &file, &line, &column,
                                  &address);
  mlafuzz::Collect(mlafuzz::WithoutAddresses(
      absl::StrCat("UndefinedBehaviorSanitizer: ", kind != nullptr ? kind : "?",
                   ": ", message != nullptr ? message : "?", " at ",
                   file != nullptr ? file : "?", ":", line, ":", column)));
}
