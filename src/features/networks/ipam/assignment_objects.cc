#include "features/networks/ipam/assignment_objects.h"

#include "api/apiserver/write_plan.h"
#include "features/networks/kinds/ip_lock.h"

namespace fairlead::ipam {
namespace {

void set_or_erase(JsonObject& object, std::string_view name, std::string_view value) {
  if (value.empty()) {
    object.erase(name);
  } else {
    object[name] = value;
  }
}

// As somebody would create it.
Json lock_of(const NetworkState& networks, const Assignment& assignment, const Ip& ip) {
  const AttachmentFacts& owner = assignment.before;
  return {{"apiVersion", networks.locks().api_version()},
          {"kind", networks.locks().kind},
          {"metadata",
           {{"name", networks::ip_lock_name(assignment.vni, ip)},
            {"namespace", owner.namespace_name},
            {"finalizers", JsonArray{Json(kQuarantineFinalizer)}},
            {"ownerReferences", JsonArray{{{"apiVersion", networks.attachments().api_version()},
                                           {"kind", networks.attachments().kind},
                                           {"name", owner.name},
                                           {"uid", owner.uid},
                                           {"controller", true},
                                           {"blockOwnerDeletion", false}}}}}},
          {"spec", {{"subnetName", owner.subnet}}}};
}

}  // namespace

std::string text_of(const std::optional<Assigned>& part) {
  return part ? part->ip.to_string() : std::string();
}

void fill_status(Json& attachment, const Assignment& assignment) {
  JsonObject& status = wire::member_object(attachment.get_object(), "status");
  const bool addressed = assignment.vni != 0;
  set_or_erase(status, "ipv4", text_of(assignment.ipv4));
  set_or_erase(status, "ipv6", text_of(assignment.ipv6));
  set_or_erase(status, "lockUID", assignment.ipv4 ? assignment.ipv4->lock_uid : "");
  set_or_erase(status, "ipv6LockUID", assignment.ipv6 ? assignment.ipv6->lock_uid : "");
  set_or_erase(status, "macAddress", addressed ? assignment.mac.to_string() : "");
  set_or_erase(status, "subnetCreationTime", assignment.subnet_written);
  if (addressed) {
    status["addressVNI"] = assignment.vni;
  } else {
    status.erase("addressVNI");
  }
  if (assignment.exhausted) status["addressContention"] = true;
  JsonObject& errors = wire::member_object(status, "errors");
  if (assignment.errors.empty()) {
    errors.erase("ipam");
  } else {
    errors["ipam"] = JsonArray(assignment.errors.begin(), assignment.errors.end());
  }
  // There is nobody yet who could say so. An agent that comes takes it back.
  if (!assignment.node_known)
    errors["host"] = JsonArray{
        Json("Node " + assignment.before.node + " is not known: no agent has reported from there")};
  if (errors.empty()) status.erase("errors");
}

Json new_lock(const NetworkState& networks, runtime::Runtime& runtime, Assignment& assignment,
              bool v4) {
  Assigned& part = *(v4 ? assignment.ipv4 : assignment.ipv6);
  Json lock = lock_of(networks, assignment, part.ip);
  apiserver::complete_new(networks.locks(), lock, runtime.wall_now(),
                          [&runtime] { return runtime.random(); });
  part.lock_uid = wire::find_string(lock, "metadata.uid");
  return lock;
}

}  // namespace fairlead::ipam
