// Lease: who holds a role at the moment, for elections and heartbeats.
#include "api/resource/core/lease.h"

#include "api/resource/core/core_kind.h"
#include "api/resource/core/core_kinds.h"

namespace fairlead::resource {
namespace {

FieldErrors validate(const Json& object, const Json*, Write) {
  FieldErrors errors;
  if (const auto seconds = integer_at(object, "spec.leaseDurationSeconds");
      seconds && *seconds <= 0) {
    errors.push_back(
        invalid("spec.leaseDurationSeconds", Json(*seconds), "must be greater than 0"));
  }
  if (const auto count = integer_at(object, "spec.leaseTransitions"); count && *count < 0) {
    errors.push_back(
        invalid("spec.leaseTransitions", Json(*count), "must be greater than or equal to 0"));
  }
  return errors;
}

}  // namespace

Kind lease_kind() {
  Kind kind = core_kind("coordination.k8s.io", "Lease", "leases", "lease");
  kind.unconditional_update = false;  // a holder must have seen what it replaces
  kind.create_on_update = true;
  kind.schema = core_object(
      "A Lease says who holds a role, and until when.",
      {field("spec",
             open_object(
                 "The holder and its term.",
                 {field("holderIdentity", string("Who holds the lease; empty when nobody does.")),
                  field("leaseDurationSeconds",
                        int32("How long others wait after renewTime before they take over.")),
                  field("acquireTime", micro_time("When the lease was acquired.")),
                  field("renewTime", micro_time("When the holder last renewed it.")),
                  field("leaseTransitions", int32("How often the lease changed hands.")),
                  field("strategy", string("How a coordinated election picks the holder.")),
                  field("preferredHolder", string("Who is asked to take over."))}))});
  kind.columns = {
      name_column(),
      column("Holder", "string", "Who holds the lease.", text_at("spec.holderIdentity")),
      age_column()};
  kind.validate = validate;
  // The lease by which a node's agent says that it is alive.
  kind.node.own = NodeAccess::Own::named;
  kind.node.namespaces = {std::string(kNodeLeaseNamespace), std::string(kKubeNodeLeaseNamespace)};
  kind.node.rights = {{.own = kRead | kCreate | kModify | kDelete}};
  kind.node.noun = "lease";
  kind.node.most_bytes = 16 << 10;
  kind.node.written_often = true;
  return kind;
}

}  // namespace fairlead::resource
