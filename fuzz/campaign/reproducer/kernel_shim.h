// What this project's kernels take from its other parts, without those.
#include <sstream>
namespace words {
inline void Put(std::ostringstream&) {}
template <class First, class... Rest>
void Put(std::ostringstream& out, const First& first, const Rest&... rest) {
  out << first;
  Put(out, rest...);
}
template <class... Parts>
std::string StrCat(const Parts&... parts) {
  std::ostringstream out;
  Put(out, parts...);
  return out.str();
}
template <class... Parts>
void StrAppend(std::string* to, const Parts&... parts) {
  *to += StrCat(parts...);
}
}  // namespace words
namespace mlafuzz {
// What kernels promise is not looked at here.
struct Contract {};
template <class... Of>
Contract BuiltinContract(Of...) {
  return Contract();
}
enum Layout {
  LAYOUT_UNSPECIFIED = 0,
  FP8_DS_MLA = 1,
  NOPE_ROW_528 = 2,
  DSV4_FOOTER_584 = 3,
  DSV4_1_FOOTER_528 = 4,
  INDEXER_132 = 5,
  INDEXER_264 = 6,
};
inline bool Layout_IsValid(int number) {
  return number >= 0 && number <= INDEXER_264;
}
inline std::string Layout_Name(Layout layout) {
  return words::StrCat("layout ", static_cast<int>(layout));
}
enum class Launch { kDirect, kGraph };
enum class CallStatus {
  kOk,
  kRefused,
  kError,
  kNotImplemented,
  kFault,
};
}  // namespace mlafuzz
