#include "fuzz/state/records.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace mlafuzz {
namespace {

template <typename Record>
absl::StatusOr<Record> Read(const State& state, Kind kind,
                            const std::string& id) {
  const auto bytes = state.Get(kind, id);
  if (!bytes.ok()) return bytes.status();
  Record record;
  if (!record.ParseFromString(*bytes)) {
    return absl::DataLossError(
        absl::StrCat(state.FolderOf(kind), "/", id, ": is no such record"));
  }
  return record;
}

// Why object `id` is not there, and the way out.
std::string WhyMissing(const State& state, absl::Span<const State> others,
                       Kind kind, const std::string& id,
                       const absl::Status& status) {
  std::string held = state.HeldByOther(kind, id);
  for (const State& other : others) {
    if (held.empty()) held = other.HeldByOther(kind, id);
  }
  return absl::StrCat(status.message(), "; ",
                      held.empty()
                          ? "run the unit again"
                          : absl::StrCat(held,
                                         " holds it under another name: "
                                         "rename that to ",
                                         id));
}

// The first part that a unit names and that is missing or damaged.
std::string MissingPart(const State& state, absl::Span<const State> others,
                        const Unit& unit) {
  for (const std::string& id : unit.findings()) {
    const auto found = ReadFoundCase(state, id);
    if (!found.ok()) {
      return WhyMissing(state, others, Kind::kFinding, id, found.status());
    }
    const auto c = state.Get(Kind::kCase, found->case_id());
    if (!c.ok()) {
      return WhyMissing(state, others, Kind::kCase, found->case_id(),
                        c.status());
    }
  }
  for (const std::string& id : unit.kept()) {
    const auto c = state.Get(Kind::kCase, id);
    if (!c.ok()) {
      return WhyMissing(state, others, Kind::kCase, id, c.status());
    }
  }
  return "";
}

}  // namespace

std::string RecordBytes(const google::protobuf::MessageLite& record) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    record.SerializeToCodedStream(&coded);
  }
  return bytes;
}

absl::StatusOr<Unit> ReadUnit(const State& state, const std::string& id) {
  return Read<Unit>(state, Kind::kUnit, id);
}
absl::StatusOr<Epoch> ReadEpoch(const State& state, const std::string& id) {
  return Read<Epoch>(state, Kind::kEpoch, id);
}
absl::StatusOr<FoundCase> ReadFoundCase(const State& state,
                                        const std::string& id) {
  return Read<FoundCase>(state, Kind::kFinding, id);
}

absl::StatusOr<std::optional<NamedEpoch>> NewestEpoch(const State& state) {
  const auto ids = state.List(Kind::kEpoch);
  if (!ids.ok()) return ids.status();
  std::optional<NamedEpoch> newest;
  for (const std::string& id : *ids) {
    auto epoch = ReadEpoch(state, id);
    if (!epoch.ok()) return epoch.status();
    if (!newest.has_value() || newest->epoch.number() <= epoch->number()) {
      newest = NamedEpoch{id, *std::move(epoch)};
    }
  }
  return newest;
}

absl::StatusOr<NamedEpoch> StartEpoch(State& state,
                                      std::vector<std::string> cases) {
  std::sort(cases.begin(), cases.end());
  cases.erase(std::unique(cases.begin(), cases.end()), cases.end());
  auto newest = NewestEpoch(state);
  if (!newest.ok()) return newest.status();
  if (newest->has_value() &&
      std::equal(cases.begin(), cases.end(), (*newest)->epoch.cases().begin(),
                 (*newest)->epoch.cases().end())) {
    return **std::move(newest);
  }
  NamedEpoch next;
  next.epoch.set_number(newest->has_value() ? (*newest)->epoch.number() + 1
                                            : 1);
  next.epoch.mutable_cases()->Assign(cases.begin(), cases.end());
  auto id = state.Put(Kind::kEpoch, RecordBytes(next.epoch));
  if (!id.ok()) return id.status();
  next.id = *std::move(id);
  return next;
}

absl::StatusOr<Units> ReadUnits(const State& state,
                                absl::Span<const State> others) {
  const auto ids = state.List(Kind::kUnit);
  if (!ids.ok()) return ids.status();
  Units units;
  for (const std::string& id : *ids) {
    auto unit = ReadUnit(state, id);
    if (!unit.ok()) {
      units.broken.emplace_back(unit.status().message());
      continue;
    }
    if (const std::string missing = MissingPart(state, others, *unit);
        !missing.empty()) {
      units.broken.push_back(absl::StrCat("unit ", id, " of seed ",
                                          unit->key().seed(), ": ", missing));
      continue;
    }
    std::string key = RecordBytes(unit->key());
    units.done.emplace(std::move(key), *std::move(unit));
  }
  return units;
}

}  // namespace mlafuzz
