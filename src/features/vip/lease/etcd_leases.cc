#include "features/vip/lease/etcd_leases.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace fairlead::vip {
namespace {

namespace etcd = wire::etcd;

store::EtcdOptions client_options(const EtcdLeasesOptions& options) {
  store::EtcdOptions client;
  client.endpoints = options.endpoints;
  client.tls = options.tls;
  client.root = options.root;
  client.call_time = options.renew * 9 / 10;  // its own end, before it is cancelled
  client.attempt_time = options.renew / 2;    // then another member
  client.connect_time = options.renew / 2;
  return client;
}

struct EtcdVersion {
  std::uint64_t life = 0;
  std::int64_t revision = 0;  // 0: the key is not there
};

std::string encode(const EtcdVersion& version) {
  return fmt::format("{}/{}", version.life, version.revision);
}

Result<EtcdVersion> parse(std::string_view text) {
  EtcdVersion version;
  const char* const end = text.data() + text.size();
  const auto life = std::from_chars(text.data(), end, version.life);
  if (life.ec != std::errc() || life.ptr == end || *life.ptr != '/')
    return fail(Code::internal, "not a version of etcd");
  const auto revision = std::from_chars(life.ptr + 1, end, version.revision);
  if (revision.ec != std::errc() || revision.ptr != end)
    return fail(Code::internal, "not a version of etcd");
  return version;
}

}  // namespace

EtcdLeases::EtcdLeases(runtime::Runtime& runtime, const EtcdLeasesOptions& options)
    : client_(runtime, client_options(options)), prefix_(options.root + "records/"), end_(prefix_) {
  ++end_.back();
}

// A member that went silent is found out by HTTP/2 only after several seconds.
void EtcdLeases::note(const Error* error) {
  if (error && (error->code == Code::timeout || error->code == Code::cancelled))
    client_.renew_connections();
}

Task<Result<std::vector<StoredRecord>>> EtcdLeases::list() {
  FL_CO_TRY(const store::EtcdEpoch epoch, co_await client_.epoch());
  const etcd::RangeRequest request{.key = prefix_, .range_end = end_};
  const Result<std::string> answer =
      co_await client_.read(etcd::kRangePath, store::framed_request(request), epoch.life);
  note(answer ? nullptr : &answer.error());
  if (!answer) co_return fail(answer.error());
  FL_CO_TRY(const etcd::RangeResponse range, etcd::decode_range_response(*answer));
  std::vector<StoredRecord> records;
  for (const etcd::KeyValue& kv : range.kvs)
    records.push_back({.name = std::string(kv.key.substr(prefix_.size())),
                       .value = std::string(kv.value),
                       .version = encode(EtcdVersion{epoch.life, kv.mod_revision})});
  co_return records;
}

Task<Result<std::string>> EtcdLeases::put(RecordPut put) {
  FL_CO_TRY(const store::EtcdEpoch epoch, co_await client_.epoch());
  EtcdVersion replaces{.life = epoch.life};
  if (!put.version.empty()) {
    FL_CO_TRY(replaces, parse(put.version));
  }
  const std::string key = prefix_ + put.name;
  etcd::TxnRequest request;
  request.compares.push_back({.key = key, .operand = replaces.revision});
  request.success.emplace_back(etcd::PutRequest{.key = key, .value = put.value});
  Result<std::string> answer =
      co_await client_.write(etcd::kTxnPath, store::framed_request(request), replaces.life);
  note(answer ? nullptr : &answer.error());
  if (!answer && answer.error().code == Code::gone)
    co_return fail(Code::conflict, std::move(answer).error().message);
  if (!answer) co_return fail(std::move(answer).error());
  FL_CO_TRY(const etcd::TxnResponse response, etcd::decode_txn_response(*answer));
  if (!response.succeeded) co_return fail(Code::conflict, put.name + " was changed");
  co_return encode(EtcdVersion{replaces.life, response.header.revision});
}

}  // namespace fairlead::vip
