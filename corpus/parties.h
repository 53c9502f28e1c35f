#ifndef MLAFUZZ_CORPUS_PARTIES_H_
#define MLAFUZZ_CORPUS_PARTIES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "corpus/contract.pb.h"

namespace mlafuzz {

// The named kernels of this field that write, gather and read cache rows, each
// with its contract: one row of a table a party. Adding one is adding a row to
// parties.cc.

enum class PartyRole { kWriter, kGather, kReader };
const char* PartyRoleName(PartyRole role);  // "writer", "gather", "reader"

// What a party's bytes look like, whether or not an oracle can compute them.
struct CacheFormat {
  const char* name;   // "row656", unique
  const char* label;  // what serving stacks call it: several share a label
  const char* words;  // "656-byte row, scales inside"
  // The Layout's name in types.proto, once there is one with that name and an
  // oracle for it; null: nothing here can compute its bytes.
  const char* layout;
  // Why not, where `layout` is null.
  const char* why_not;
  // Why nobody here can say what a decode makes of it; null: an oracle can.
  const char* why_no_decode;
  // The format of what a gather of it leaves; "": none is known.
  const char* gathered;
};

// What the rows of a writer say about rope.
enum class Rope {
  kWritten,     // 64 rope values a row
  kNone,        // pe_dim 0: the rows carry none
  kZeroPadded,  // pe_dim 64 with zeros that the caller appends: they carry none
};

// Plain data: `contract` is protobuf text of where the party's contract is not
// BuiltinContract().
struct Party {
  const char* name;  // "native-raw", unique
  PartyRole role;
  const char* format;  // of the cache that it writes or reads
  const char* leaves;  // of a gather: the format of what it leaves; else ""
  const char* what;    // one line
  const char* source;  // repository, file, commit
  Rope rope;           // of a writer
  std::string contract;
  // Of a reader: a call may have a second cache (ExtraCache in case.proto).
  bool second_cache = false;
};

const std::vector<CacheFormat>& AllCacheFormats();
const std::vector<Party>& AllParties();

// nullptr if there is none.
const CacheFormat* FindCacheFormat(absl::string_view name);
const Party* FindParty(absl::string_view name);

// The format's layout if contracts and cases can say it; nullopt otherwise.
std::optional<Layout> ComputableLayout(const CacheFormat& format);

// The format with that layout; nullptr: no party here has it.
const CacheFormat* FormatOfLayout(Layout layout);

// Why nothing can be said of what a party of this role makes of the format's
// bytes; null: it can be computed.
const char* WhyNotComputed(const CacheFormat& format, PartyRole role);

// The party's contract, every field set: what its text leaves open is this
// project's for the layout. Its text parses (parties_test).
Contract PartyContract(const Party& party);

}  // namespace mlafuzz

#endif  // MLAFUZZ_CORPUS_PARTIES_H_
