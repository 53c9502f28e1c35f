#ifndef MLAFUZZ_PROPERTIES_MINIMIZE_MODELS_H_
#define MLAFUZZ_PROPERTIES_MINIMIZE_MODELS_H_

#include <cstdint>
#include <vector>

#include "corpus/case.pb.h"

namespace mlafuzz {

// A gather request by request, so that one can be taken out whole: its dst
// rows, its place in the lists, its row of the block table.
struct GatherModel {
  struct Request {
    std::int32_t gap = 0;  // rows of nobody in front of it
    std::int32_t rows = 0;
    std::int32_t first = 0;           // first token
    std::vector<std::int64_t> pages;  // its row of the table
  };
  std::vector<Request> requests;
  std::int32_t rows_behind = 0;  // rows of nobody behind the last
  bool lens = false;             // lengths given
  bool firsts = false;           // first tokens given
  std::uint32_t columns = 0;     // of the table
  std::uint32_t padding = 0;     // elements between its rows
  bool expanded = false;
  std::int64_t page_size = 1;

  Gather rest;  // what is not modelled: dst strides, nope
};

// False if the requests disagree in number, or do not lie in dst one behind the
// other.
bool ToModel(const Gather& gather, const Pool& pool, GatherModel* model);
// Lays the requests out one behind the other, with as many rows each as before.
void Straighten(Gather* gather);
// Takes one out of all lists.
void DropRequest(int request, Gather* gather);
void FromModel(const GatherModel& model, Gather* gather);
// Models with less in them, large reductions first.
std::vector<GatherModel> ReductionsOf(const GatherModel& model);

// An index conversion row by row.
struct ConvertModel {
  struct Row {
    std::int64_t request = 0;
    std::vector<std::int32_t> tokens;
    std::int32_t prefill = -1;  // of a call that names a workspace
  };
  std::vector<Row> rows;
  bool workspace = false;
  std::vector<std::int64_t> more_requests;  // ids past the rows
  std::int32_t surplus = 0;
  std::vector<std::vector<std::int64_t>> table;  // one stored row if expanded
  std::uint32_t table_rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t padding = 0;
  bool expanded = false;
  std::int64_t page_size = 1;

  Convert rest;
};

// False if there are too many indices to write out.
bool ToModel(const Convert& convert, const Pool& pool, ConvertModel* model);
void FromModel(const ConvertModel& model, Convert* convert);
std::vector<ConvertModel> ReductionsOf(const ConvertModel& model);

// A decode query by query and lane by lane.
struct DecodeModel {
  struct Query {
    std::vector<std::int32_t> lanes;
    std::int32_t length = 0;
    // Of a second cache; its width stays.
    std::vector<std::int32_t> extra_lanes;
    std::int32_t extra_length = 0;
    // [heads][512 + pe_dim] bf16; empty where not written out.
    std::vector<std::vector<std::uint16_t>> q;
  };
  std::vector<Query> queries;
  std::vector<std::uint32_t> sinks;  // one a head, or none
  bool lengths = false;
  std::uint32_t heads = 0;
  std::uint32_t width = 0;
  std::uint32_t topk = 0;

  Decode rest;  // q as a pattern, scale, splits, pe_dim
};

// False if queries, index rows and lengths disagree in number, or heads and
// sinks, or there is too much to write out.
bool ToModel(const Decode& decode, DecodeModel* model);
// `written_out`: q value by value; else the pattern as it was.
void FromModel(const DecodeModel& model, bool written_out, Decode* decode);
// Fewer queries, heads, lanes, keys.
std::vector<DecodeModel> ReductionsOf(const DecodeModel& model);

}  // namespace mlafuzz

#endif  // MLAFUZZ_PROPERTIES_MINIMIZE_MODELS_H_
