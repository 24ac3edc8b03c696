#include "features/networks/kinds/node_report.h"
#include "features/networks/kinds/virtual_network.h"

#include <charconv>
#include <limits>

#include "api/resource/columns.h"
#include "api/resource/fairlead_kind.h"

namespace fairlead::networks {

using namespace resource;

namespace {

bool is_number(std::string_view text, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc{} && end == text.data() + text.size() && number >= 1 &&
         number <= most && text.front() != '0';
}

bool is_version(std::string_view text) {
  return is_number(text, std::numeric_limits<std::uint64_t>::max());
}

FieldErrors validate(const Json& object, const Json*, Write) {
  FieldErrors errors;
  for (const auto& [vni, version] : members_at(object, "applied")) {
    const std::string field = "applied[" + std::string(vni) + "]";
    if (!is_number(vni, static_cast<std::uint64_t>(kMaxVni)))
      errors.push_back(invalid(field, Json(vni), "must be the number of a virtual network"));
    if (!is_version(version.get_string()))
      errors.push_back(invalid(field, version, "must be a resourceVersion"));
  }
  for (const std::string_view field : {"appliedOwn", "appliedElsewhere"}) {
    const std::string_view version = wire::find_string(object, field);
    if (!version.empty() && !is_version(version))
      errors.push_back(invalid(std::string(field), Json(version), "must be a resourceVersion"));
  }
  return errors;
}

}  // namespace

Kind node_report_kind() {
  Schema schema = schema_of<NodeReport>();
  schema.description =
      "A NodeReport tells what a node has carried out of the virtual networks. Its agent keeps it; "
      "a released address is used again once every node concerned has reported its removal. Delete "
      "it only for a node that is gone for good.";
  Kind kind = fairlead_kind("NodeReport", "nodereports", "nodereport", "nrp", std::move(schema),
                            {{"applied", {"appliedOwn", "applied", "appliedElsewhere"}}});
  kind.namespaced = false;
  kind.categories = {"fairlead"};
  kind.selectable = {"silentSince", "renewTime"};
  kind.columns = {
      name_column(),
      column("Networks", "integer", "Virtual networks that the node reports on.",
             [](const Json& object, Moment) {
               return Json(static_cast<std::int64_t>(members_at(object, "applied").size()));
             }),
      column("Silent-Since", "string", "When the agent was last heard, if it is silent.",
             text_at("silentSince")),
      age_column("date"),
  };
  kind.validate = validate;
  kind.node.own = NodeAccess::Own::named;
  kind.node.rights = {{.own = kGet | kCreate | kModify}};
  kind.node.written_often = true;
  kind.node.liveness = {.renewed = "renewTime", .silent_since = "silentSince"};
  return kind;
}

}  // namespace fairlead::networks
