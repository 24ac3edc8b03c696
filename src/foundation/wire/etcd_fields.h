// The fields of etcd's messages, one pair of functions per message. Internal to
// foundation/wire/etcd*.cc; what others use is foundation/wire/etcd.h. Field numbers are those of
// etcdserverpb/rpc.proto and mvccpb/kv.proto.
#pragma once

#include <string_view>

#include "foundation/wire/etcd.h"
#include "foundation/wire/protobuf.h"

namespace fairlead::wire::etcd::fields {

// write() appends the fields of a message; read() takes them from one, and is false if it is
// broken.

// etcd_kv.cc
void write(ProtoWriter& out, const ResponseHeader& header);
bool read(std::string_view message, ResponseHeader& header);
void write(ProtoWriter& out, const KeyValue& kv);
bool read(std::string_view message, KeyValue& kv);
void write(ProtoWriter& out, const RangeRequest& request);
bool read(std::string_view message, RangeRequest& request);
void write(ProtoWriter& out, const RangeResponse& response);
bool read(std::string_view message, RangeResponse& response);
void write(ProtoWriter& out, const PutRequest& request);
bool read(std::string_view message, PutRequest& request);
void write(ProtoWriter& out, const DeleteRangeRequest& request);
bool read(std::string_view message, DeleteRangeRequest& request);
void write(ProtoWriter& out, const Compare& compare);
bool read(std::string_view message, Compare& compare);
void write(ProtoWriter& out, const RequestOp& op);
bool read(std::string_view message, RequestOp& op);
void write(ProtoWriter& out, const TxnRequest& request);
bool read(std::string_view message, TxnRequest& request);
void write(ProtoWriter& out, const TxnGroupRequest& request);
bool read(std::string_view message, TxnGroupRequest& request);
void write(ProtoWriter&, const PutResponse&);
void write(ProtoWriter& out, const DeleteRangeResponse& response);
bool read(std::string_view message, DeleteRangeResponse& response);
void write(ProtoWriter& out, const ResponseOp& op);
bool read(std::string_view message, ResponseOp& op);
void write(ProtoWriter& out, const TxnResponse& response);
bool read(std::string_view message, TxnResponse& response);
void write(ProtoWriter& out, const TxnGroupResponse& response);
bool read(std::string_view message, TxnGroupResponse& response);
void write(ProtoWriter& out, const CompactRequest& request);
bool read(std::string_view message, CompactRequest& request);

// etcd_watch.cc
void write(ProtoWriter& out, const WatchCreateRequest& request);
bool read(std::string_view message, WatchCreateRequest& request);
void write(ProtoWriter& out, const WatchCancelRequest& request);
bool read(std::string_view message, WatchCancelRequest& request);
void write(ProtoWriter&, const WatchProgressRequest&);
void write(ProtoWriter& out, const WatchRequest& request);
bool read(std::string_view message, WatchRequest& request);
void write(ProtoWriter& out, const Event& event);
bool read(std::string_view message, Event& event);
void write(ProtoWriter& out, const WatchResponse& response);
bool read(std::string_view message, WatchResponse& response);

// etcd_status.cc
void write(ProtoWriter& out, const StatusResponse& response);
bool read(std::string_view message, StatusResponse& response);

}  // namespace fairlead::wire::etcd::fields
