// NetworkAttachmentDefinition: a network that pods may ask for, as the Kubernetes Network Plumbing
// Working Group defines it.
#include "api/resource/core/core_kind.h"
#include "api/resource/core/core_kinds.h"

namespace fairlead::resource {
namespace {

FieldErrors validate(const Json& object, const Json*, Write) {
  FieldErrors errors;
  const std::string_view config = wire::find_string(object, "spec.config");
  if (!config.empty() && !wire::parse_json(config)) {
    errors.push_back(invalid("spec.config", Json(config), "must be a CNI configuration in JSON"));
  }
  return errors;
}

}  // namespace

Kind network_attachment_definition_kind() {
  // A custom resource in Kubernetes: no strategic merge, no update without a resourceVersion.
  Kind kind;
  kind.group = "k8s.cni.cncf.io";
  kind.version = "v1";
  kind.kind = "NetworkAttachmentDefinition";
  kind.plural = "network-attachment-definitions";
  kind.singular = "network-attachment-definition";
  kind.short_names = {"net-attach-def"};
  kind.schema = core_object(
      "A NetworkAttachmentDefinition describes a network that pods may ask for.",
      {field("spec", open_object("The network.",
                                 {field("config", string("CNI configuration in JSON; empty to use "
                                                         "the node's file of this name."))}))});
  kind.columns = {name_column(), age_column("date")};
  kind.validate = validate;
  return kind;
}

}  // namespace fairlead::resource
