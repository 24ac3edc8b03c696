// Encoders and decoders, one pair per message, in the order of the header. Field numbers are those
// of etcdserverpb/rpc.proto and mvccpb/kv.proto.
#include "wire/etcd.h"

#include <type_traits>
#include <utility>

#include "wire/protobuf.h"

namespace fairlead::wire::etcd {
namespace {

std::unexpected<Error> broken(std::string_view what) {
  return fail(Code::corrupt, std::string("broken etcd message: ").append(what));
}

void write(ProtoWriter& out, const ResponseHeader& header) {
  out.number(1, header.cluster_id);
  out.number(2, header.member_id);
  out.signed_number(3, header.revision);
  out.number(4, header.raft_term);
}

bool read(std::string_view message, ResponseHeader& header) {
  ProtoReader in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        header.cluster_id = in.number();
        break;
      case 2:
        header.member_id = in.number();
        break;
      case 3:
        header.revision = in.signed_number();
        break;
      case 4:
        header.raft_term = in.number();
        break;
      default:
        break;
    }
  }
  return in.ok();
}

void write(ProtoWriter& out, const KeyValue& kv) {
  out.bytes(1, kv.key);
  out.signed_number(2, kv.create_revision);
  out.signed_number(3, kv.mod_revision);
  out.signed_number(4, kv.version);
  out.bytes(5, kv.value);
}

bool read(std::string_view message, KeyValue& kv) {
  ProtoReader in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        kv.key = in.bytes();
        break;
      case 2:
        kv.create_revision = in.signed_number();
        break;
      case 3:
        kv.mod_revision = in.signed_number();
        break;
      case 4:
        kv.version = in.signed_number();
        break;
      case 5:
        kv.value = in.bytes();
        break;
      default:
        break;
    }
  }
  return in.ok();
}

void write(ProtoWriter& out, const RangeRequest& request) {
  out.bytes(1, request.key);
  out.bytes(2, request.range_end);
  out.signed_number(3, request.limit);
  out.signed_number(4, request.revision);
  out.boolean(7, request.serializable);
  out.boolean(8, request.keys_only);
  out.boolean(9, request.count_only);
}

bool read(std::string_view message, RangeRequest& request) {
  ProtoReader in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        request.key = in.bytes();
        break;
      case 2:
        request.range_end = in.bytes();
        break;
      case 3:
        request.limit = in.signed_number();
        break;
      case 4:
        request.revision = in.signed_number();
        break;
      case 7:
        request.serializable = in.boolean();
        break;
      case 8:
        request.keys_only = in.boolean();
        break;
      case 9:
        request.count_only = in.boolean();
        break;
      default:
        break;
    }
  }
  return in.ok();
}

void write(ProtoWriter& out, const RangeResponse& response) {
  out.message(1, [&](ProtoWriter& header) { write(header, response.header); });
  for (const KeyValue& kv : response.kvs)
    out.message(2, [&](ProtoWriter& entry) { write(entry, kv); });
  out.boolean(3, response.more);
  out.signed_number(4, response.count);
}

bool read(std::string_view message, RangeResponse& response) {
  ProtoReader in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        if (!read(in.bytes(), response.header)) return false;
        break;
      case 2:
        if (!read(in.bytes(), response.kvs.emplace_back())) return false;
        break;
      case 3:
        response.more = in.boolean();
        break;
      case 4:
        response.count = in.signed_number();
        break;
      default:
        break;
    }
  }
  return in.ok();
}

void write(ProtoWriter& out, const PutRequest& request) {
  out.bytes(1, request.key);
  out.bytes(2, request.value);
}

bool read(std::string_view message, PutRequest& request) {
  ProtoReader in(message);
  while (in.next()) {
    if (in.field() == 1) request.key = in.bytes();
    if (in.field() == 2) request.value = in.bytes();
  }
  return in.ok();
}

void write(ProtoWriter& out, const DeleteRangeRequest& request) {
  out.bytes(1, request.key);
  out.bytes(2, request.range_end);
}

bool read(std::string_view message, DeleteRangeRequest& request) {
  ProtoReader in(message);
  while (in.next()) {
    if (in.field() == 1) request.key = in.bytes();
    if (in.field() == 2) request.range_end = in.bytes();
  }
  return in.ok();
}

void write(ProtoWriter& out, const Compare& compare) {
  out.number(1, static_cast<std::uint64_t>(compare.result));
  out.number(2, static_cast<std::uint64_t>(compare.target));
  out.bytes(3, compare.key);
  const auto target = static_cast<std::uint32_t>(compare.target);
  out.present_signed_number(4 + target, compare.operand);  // version 4, create 5, mod 6: a oneof
}

bool read(std::string_view message, Compare& compare) {
  compare.target = Compare::Target::version;  // what an absent field means on the wire
  ProtoReader in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        if (in.number() > 3) return false;
        compare.result = static_cast<Compare::Result>(in.number());
        break;
      case 2:
        if (in.number() > 2) return false;  // by value and by lease are not used here
        compare.target = static_cast<Compare::Target>(in.number());
        break;
      case 3:
        compare.key = in.bytes();
        break;
      case 4:
      case 5:
      case 6:
        compare.operand = in.signed_number();
        break;
      default:
        break;
    }
  }
  return in.ok();
}

// RequestOp: range 1, put 2, delete 3, the order of the variant.
void write(ProtoWriter& out, const RequestOp& op) {
  std::visit(
      [&](const auto& request) {
        out.message(static_cast<std::uint32_t>(op.index() + 1),
                    [&](ProtoWriter& inner) { write(inner, request); });
      },
      op);
}

bool read(std::string_view message, RequestOp& op) {
  ProtoReader in(message);
  bool known = false;
  while (in.next()) {
    known = in.field() >= 1 && in.field() <= 3;
    if (!known) return false;
    bool whole = false;
    if (in.field() == 1) whole = read(in.bytes(), op.emplace<RangeRequest>());
    if (in.field() == 2) whole = read(in.bytes(), op.emplace<PutRequest>());
    if (in.field() == 3) whole = read(in.bytes(), op.emplace<DeleteRangeRequest>());
    if (!whole) return false;
  }
  return in.ok() && known;
}

void write(ProtoWriter& out, const TxnRequest& request) {
  for (const Compare& compare : request.compares)
    out.message(1, [&](ProtoWriter& entry) { write(entry, compare); });
  for (const RequestOp& op : request.success)
    out.message(2, [&](ProtoWriter& entry) { write(entry, op); });
  for (const RequestOp& op : request.failure)
    out.message(3, [&](ProtoWriter& entry) { write(entry, op); });
}

bool read(std::string_view message, TxnRequest& request) {
  ProtoReader in(message);
  while (in.next()) {
    bool whole = true;
    if (in.field() == 1) whole = read(in.bytes(), request.compares.emplace_back());
    if (in.field() == 2) whole = read(in.bytes(), request.success.emplace_back());
    if (in.field() == 3) whole = read(in.bytes(), request.failure.emplace_back());
    if (!whole) return false;
  }
  return in.ok();
}

void write(ProtoWriter&, const PutResponse&) {}

void write(ProtoWriter& out, const DeleteRangeResponse& response) {
  out.signed_number(2, response.deleted);
}

bool read(std::string_view message, DeleteRangeResponse& response) {
  ProtoReader in(message);
  while (in.next()) {
    if (in.field() == 2) response.deleted = in.signed_number();
  }
  return in.ok();
}

void write(ProtoWriter& out, const ResponseOp& op) {
  std::visit(
      [&](const auto& response) {
        out.message(static_cast<std::uint32_t>(op.index() + 1),
                    [&](ProtoWriter& inner) { write(inner, response); });
      },
      op);
}

bool read(std::string_view message, ResponseOp& op) {
  ProtoReader in(message);
  while (in.next()) {
    bool whole = true;
    if (in.field() == 1) whole = read(in.bytes(), op.emplace<RangeResponse>());
    if (in.field() == 2) op.emplace<PutResponse>();
    if (in.field() == 3) whole = read(in.bytes(), op.emplace<DeleteRangeResponse>());
    if (!whole) return false;
  }
  return in.ok();
}

void write(ProtoWriter& out, const TxnResponse& response) {
  out.message(1, [&](ProtoWriter& header) { write(header, response.header); });
  out.boolean(2, response.succeeded);
  for (const ResponseOp& op : response.responses)
    out.message(3, [&](ProtoWriter& entry) { write(entry, op); });
}

bool read(std::string_view message, TxnResponse& response) {
  ProtoReader in(message);
  while (in.next()) {
    bool whole = true;
    if (in.field() == 1) whole = read(in.bytes(), response.header);
    if (in.field() == 2) response.succeeded = in.boolean();
    if (in.field() == 3) whole = read(in.bytes(), response.responses.emplace_back());
    if (!whole) return false;
  }
  return in.ok();
}

void write(ProtoWriter& out, const CompactRequest& request) {
  out.signed_number(1, request.revision);
  out.boolean(2, request.physical);
}

bool read(std::string_view message, CompactRequest& request) {
  ProtoReader in(message);
  while (in.next()) {
    if (in.field() == 1) request.revision = in.signed_number();
    if (in.field() == 2) request.physical = in.boolean();
  }
  return in.ok();
}

void write(ProtoWriter& out, const WatchCreateRequest& request) {
  out.bytes(1, request.key);
  out.bytes(2, request.range_end);
  out.signed_number(3, request.start_revision);
  out.boolean(4, request.progress_notify);
  out.boolean(6, request.prev_kv);
  out.signed_number(7, request.watch_id);
  out.boolean(8, request.fragment);
}

bool read(std::string_view message, WatchCreateRequest& request) {
  ProtoReader in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        request.key = in.bytes();
        break;
      case 2:
        request.range_end = in.bytes();
        break;
      case 3:
        request.start_revision = in.signed_number();
        break;
      case 4:
        request.progress_notify = in.boolean();
        break;
      case 6:
        request.prev_kv = in.boolean();
        break;
      case 7:
        request.watch_id = in.signed_number();
        break;
      case 8:
        request.fragment = in.boolean();
        break;
      default:
        break;
    }
  }
  return in.ok();
}

void write(ProtoWriter& out, const WatchCancelRequest& request) {
  out.signed_number(1, request.watch_id);
}

bool read(std::string_view message, WatchCancelRequest& request) {
  ProtoReader in(message);
  while (in.next()) {
    if (in.field() == 1) request.watch_id = in.signed_number();
  }
  return in.ok();
}

void write(ProtoWriter&, const WatchProgressRequest&) {}

void write(ProtoWriter& out, const WatchRequest& request) {
  std::visit(
      [&](const auto& kind) {
        out.message(static_cast<std::uint32_t>(request.index() + 1),
                    [&](ProtoWriter& inner) { write(inner, kind); });
      },
      request);
}

bool read(std::string_view message, WatchRequest& request) {
  ProtoReader in(message);
  bool known = false;
  while (in.next()) {
    bool whole = true;
    if (in.field() == 1) whole = read(in.bytes(), request.emplace<WatchCreateRequest>());
    if (in.field() == 2) whole = read(in.bytes(), request.emplace<WatchCancelRequest>());
    if (in.field() == 3) request.emplace<WatchProgressRequest>();
    if (!whole) return false;
    known = known || in.field() <= 3;
  }
  return in.ok() && known;
}

void write(ProtoWriter& out, const Event& event) {
  out.number(1, event.erased ? 1 : 0);
  out.message(2, [&](ProtoWriter& kv) { write(kv, event.kv); });
}

bool read(std::string_view message, Event& event) {
  ProtoReader in(message);
  while (in.next()) {
    if (in.field() == 1) event.erased = in.number() == 1;
    if (in.field() == 2 && !read(in.bytes(), event.kv)) return false;
  }
  return in.ok();
}

void write(ProtoWriter& out, const WatchResponse& response) {
  out.message(1, [&](ProtoWriter& header) { write(header, response.header); });
  out.signed_number(2, response.watch_id);
  out.boolean(3, response.created);
  out.boolean(4, response.canceled);
  out.signed_number(5, response.compact_revision);
  out.bytes(6, response.cancel_reason);
  out.boolean(7, response.fragment);
  for (const Event& event : response.events)
    out.message(11, [&](ProtoWriter& entry) { write(entry, event); });
}

bool read(std::string_view message, WatchResponse& response) {
  ProtoReader in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        if (!read(in.bytes(), response.header)) return false;
        break;
      case 2:
        response.watch_id = in.signed_number();
        break;
      case 3:
        response.created = in.boolean();
        break;
      case 4:
        response.canceled = in.boolean();
        break;
      case 5:
        response.compact_revision = in.signed_number();
        break;
      case 6:
        response.cancel_reason = in.bytes();
        break;
      case 7:
        response.fragment = in.boolean();
        break;
      case 11:
        if (!read(in.bytes(), response.events.emplace_back())) return false;
        break;
      default:
        break;
    }
  }
  return in.ok();
}

void write(ProtoWriter& out, const StatusResponse& response) {
  out.message(1, [&](ProtoWriter& header) { write(header, response.header); });
  out.bytes(2, response.version);
  out.signed_number(3, response.db_size);
  out.number(4, response.leader);
  for (const std::string_view error : response.errors) out.present_bytes(8, error);
  out.signed_number(9, response.db_size_in_use);
  out.boolean(10, response.is_learner);
}

bool read(std::string_view message, StatusResponse& response) {
  ProtoReader in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        if (!read(in.bytes(), response.header)) return false;
        break;
      case 2:
        response.version = in.bytes();
        break;
      case 3:
        response.db_size = in.signed_number();
        break;
      case 4:
        response.leader = in.number();
        break;
      case 8:
        response.errors.push_back(in.bytes());
        break;
      case 9:
        response.db_size_in_use = in.signed_number();
        break;
      case 10:
        response.is_learner = in.boolean();
        break;
      default:
        break;
    }
  }
  return in.ok();
}

void write(ProtoWriter& out, const Member& member) {
  out.number(1, member.id);
  out.bytes(2, member.name);
  for (const std::string_view url : member.peer_urls) out.present_bytes(3, url);
  for (const std::string_view url : member.client_urls) out.present_bytes(4, url);
  out.boolean(5, member.is_learner);
}

bool read(std::string_view message, Member& member) {
  ProtoReader in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        member.id = in.number();
        break;
      case 2:
        member.name = in.bytes();
        break;
      case 3:
        member.peer_urls.push_back(in.bytes());
        break;
      case 4:
        member.client_urls.push_back(in.bytes());
        break;
      case 5:
        member.is_learner = in.boolean();
        break;
      default:
        break;
    }
  }
  return in.ok();
}

void write(ProtoWriter& out, const MemberListResponse& response) {
  out.message(1, [&](ProtoWriter& header) { write(header, response.header); });
  for (const Member& member : response.members)
    out.message(2, [&](ProtoWriter& entry) { write(entry, member); });
}

bool read(std::string_view message, MemberListResponse& response) {
  ProtoReader in(message);
  while (in.next()) {
    bool whole = true;
    if (in.field() == 1) whole = read(in.bytes(), response.header);
    if (in.field() == 2) whole = read(in.bytes(), response.members.emplace_back());
    if (!whole) return false;
  }
  return in.ok();
}

template <class Message>
void encode_message(std::string& out, const Message& message) {
  ProtoWriter writer(out);
  write(writer, message);
}

template <class Message>
Result<Message> decode_message(std::string_view bytes, std::string_view name) {
  Message message;
  if (!read(bytes, message)) return broken(name);
  return message;
}

}  // namespace

void encode(std::string& out, const RangeRequest& request) { encode_message(out, request); }
void encode(std::string& out, const TxnRequest& request) { encode_message(out, request); }
void encode(std::string& out, const CompactRequest& request) { encode_message(out, request); }
void encode(std::string& out, const WatchRequest& request) { encode_message(out, request); }
void encode(std::string& out, const RangeResponse& response) { encode_message(out, response); }
void encode(std::string& out, const TxnResponse& response) { encode_message(out, response); }
void encode(std::string& out, const WatchResponse& response) { encode_message(out, response); }
void encode(std::string& out, const StatusResponse& response) { encode_message(out, response); }
void encode(std::string& out, const MemberListResponse& response) { encode_message(out, response); }
void encode_compact_response(std::string& out, const ResponseHeader& header) {
  ProtoWriter writer(out);
  writer.message(1, [&](ProtoWriter& inner) { write(inner, header); });
}

Result<RangeRequest> decode_range_request(std::string_view message) {
  return decode_message<RangeRequest>(message, "range request");
}
Result<TxnRequest> decode_txn_request(std::string_view message) {
  return decode_message<TxnRequest>(message, "transaction request");
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
Result<WatchResponse> decode_watch_response(std::string_view message) {
  return decode_message<WatchResponse>(message, "watch response");
}
Result<StatusResponse> decode_status_response(std::string_view message) {
  return decode_message<StatusResponse>(message, "status response");
}
Result<MemberListResponse> decode_member_list_response(std::string_view message) {
  return decode_message<MemberListResponse>(message, "member list");
}
Result<ResponseHeader> decode_compact_response(std::string_view message) {
  // Only the header, and that is where every response has it.
  FL_TRY(const MemberListResponse response, decode_member_list_response(message));
  return response.header;
}

}  // namespace fairlead::wire::etcd
