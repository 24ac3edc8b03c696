// Keys and values: ranges, transactions, compaction.
#include "foundation/wire/etcd_fields.h"

namespace fairlead::wire::etcd::fields {

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

// The one field of a RequestOp or ResponseOp that is a transaction.
constexpr std::uint32_t kTransactionOp = 4;

template <class Transaction>
bool read_transaction_op(std::string_view message, Transaction& transaction) {
  ProtoReader in(message);
  bool known = false;
  while (in.next()) {
    if (known || in.field() != kTransactionOp) return false;
    known = true;
    if (!read(in.bytes(), transaction)) return false;
  }
  return in.ok() && known;
}

void write(ProtoWriter& out, const TxnGroupRequest& request) {
  for (const TxnRequest& one : request.transactions)
    out.message(2, [&](ProtoWriter& op) {
      op.message(kTransactionOp, [&](ProtoWriter& entry) { write(entry, one); });
    });
}

bool read(std::string_view message, TxnGroupRequest& request) {
  ProtoReader in(message);
  while (in.next()) {
    if (in.field() != 2) return false;
    if (!read_transaction_op(in.bytes(), request.transactions.emplace_back())) return false;
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

void write(ProtoWriter& out, const TxnGroupResponse& response) {
  out.message(1, [&](ProtoWriter& header) { write(header, response.header); });
  out.boolean(2, true);
  for (const TxnResponse& one : response.transactions)
    out.message(3, [&](ProtoWriter& op) {
      op.message(kTransactionOp, [&](ProtoWriter& entry) { write(entry, one); });
    });
}

bool read(std::string_view message, TxnGroupResponse& response) {
  ProtoReader in(message);
  while (in.next()) {
    bool whole = true;
    if (in.field() == 1) whole = read(in.bytes(), response.header);
    if (in.field() == 3)
      whole = read_transaction_op(in.bytes(), response.transactions.emplace_back());
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

}  // namespace fairlead::wire::etcd::fields
