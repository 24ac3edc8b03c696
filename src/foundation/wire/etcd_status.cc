// The state of a member and of the cluster.
#include "foundation/wire/etcd_fields.h"

namespace fairlead::wire::etcd::fields {

void write(ProtoWriter& out, const StatusResponse& response) {
  out.message(1, [&](ProtoWriter& header) { write(header, response.header); });
  out.bytes(2, response.version);
  out.signed_number(3, response.db_size);
  out.number(4, response.leader);
  out.number(5, response.raft_index);
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
      case 5:
        response.raft_index = in.number();
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

}  // namespace fairlead::wire::etcd::fields
