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

}  // namespace fairlead::wire::etcd::fields
