#include "features/networks/node/host_status.h"

#include "api/resource/schema/describe.h"

namespace fairlead::networks {
namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json list_or_null(const std::vector<std::string>& texts) {
  if (texts.empty()) return nullptr;
  JsonArray list;
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

Json report_json(const std::shared_ptr<const ExecReport>& report) {
  return report ? resource::encode(*report) : Json(nullptr);
}

}  // namespace

std::optional<Json> plan_status_patch(const std::string& uid, const HostStatus& known,
                                      const HostStatus& wanted) {
  JsonObject status;
  if (known.interface != wanted.interface) status["ifcName"] = text_or_null(wanted.interface);
  if (known.host != wanted.host) status["hostIP"] = text_or_null(wanted.host);
  if (known.errors != wanted.errors)
    status["errors"] = JsonObject{{"host", list_or_null(wanted.errors)}};
  const Json report = report_json(wanted.report);
  if (report_json(known.report) != report) {
    // Members of an earlier report that this one does not have must go, too.
    Json patch = report;
    if (patch.is_object() && known.report)
      for (const char* name : {"stdOut", "stdErr"})
        if (!patch.get_object().contains(name)) patch.get_object()[name] = nullptr;
    status["postCreateExecReport"] = std::move(patch);
  }
  if (status.empty()) return std::nullopt;
  return Json(JsonObject{{"metadata", JsonObject{{"uid", uid}}}, {"status", std::move(status)}});
}

StatusNews news_of(const HostStatus& known, const HostStatus& wanted) {
  const bool moved = known.interface != wanted.interface || known.host != wanted.host;
  return {.interface = moved && !wanted.interface.empty(),
          .hook = wanted.report && report_json(known.report) != report_json(wanted.report),
          .errors = !wanted.errors.empty()};
}

}  // namespace fairlead::networks
