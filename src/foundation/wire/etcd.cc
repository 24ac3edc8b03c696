#include "foundation/wire/etcd.h"

#include <utility>

#include "foundation/wire/etcd_fields.h"
#include "foundation/wire/protobuf.h"

namespace fairlead::wire::etcd {
namespace {

std::unexpected<Error> broken(std::string_view what) {
  return fail(Code::corrupt, std::string("broken etcd message: ").append(what));
}

template <class Message>
void encode_message(std::string& out, const Message& message) {
  ProtoWriter writer(out);
  fields::write(writer, message);
}

template <class Message>
Result<Message> decode_message(std::string_view bytes, std::string_view name) {
  Message message;
  if (!fields::read(bytes, message)) return broken(name);
  return message;
}

}  // namespace

void encode(std::string& out, const RangeRequest& request) { encode_message(out, request); }
void encode(std::string& out, const TxnRequest& request) { encode_message(out, request); }
void encode(std::string& out, const TxnGroupRequest& request) { encode_message(out, request); }
void encode(std::string& out, const CompactRequest& request) { encode_message(out, request); }
void encode(std::string& out, const WatchRequest& request) { encode_message(out, request); }
void encode(std::string& out, const RangeResponse& response) { encode_message(out, response); }
void encode(std::string& out, const TxnResponse& response) { encode_message(out, response); }
void encode(std::string& out, const TxnGroupResponse& response) { encode_message(out, response); }
void encode(std::string& out, const WatchResponse& response) { encode_message(out, response); }
void encode(std::string& out, const StatusResponse& response) { encode_message(out, response); }
void encode_compact_response(std::string& out, const ResponseHeader& header) {
  ProtoWriter writer(out);
  writer.message(1, [&](ProtoWriter& inner) { fields::write(inner, header); });
}

Result<RangeRequest> decode_range_request(std::string_view message) {
  return decode_message<RangeRequest>(message, "range request");
}
Result<TxnRequest> decode_txn_request(std::string_view message) {
  return decode_message<TxnRequest>(message, "transaction request");
}
Result<TxnGroupRequest> decode_txn_group_request(std::string_view message) {
  return decode_message<TxnGroupRequest>(message, "group of transaction requests");
}
Result<CompactRequest> decode_compact_request(std::string_view message) {
  return decode_message<CompactRequest>(message, "compaction request");
}
Result<WatchRequest> decode_watch_request(std::string_view message) {
  return decode_message<WatchRequest>(message, "watch request");
}
Result<RangeResponse> decode_range_response(std::string_view message) {
  return decode_message<RangeResponse>(message, "range response");
}
Result<TxnResponse> decode_txn_response(std::string_view message) {
  return decode_message<TxnResponse>(message, "transaction response");
}
Result<TxnGroupResponse> decode_txn_group_response(std::string_view message) {
  return decode_message<TxnGroupResponse>(message, "group of transaction responses");
}
Result<WatchResponse> decode_watch_response(std::string_view message) {
  return decode_message<WatchResponse>(message, "watch response");
}
Result<StatusResponse> decode_status_response(std::string_view message) {
  return decode_message<StatusResponse>(message, "status response");
}

}  // namespace fairlead::wire::etcd
