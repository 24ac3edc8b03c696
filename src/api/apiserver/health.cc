#include "api/apiserver/health.h"

#include <algorithm>

#include "foundation/base/log.h"

namespace fairlead::apiserver {
namespace {

constexpr std::string_view kRoots[] = {"/healthz", "/livez", "/readyz"};

std::string_view root_of(std::string_view path) {
  for (const std::string_view root : kRoots)
    if (path == root || (path.starts_with(root) && path[root.size()] == '/')) return root;
  return {};
}

}  // namespace

void Health::add(std::string name, bool live, std::function<Result<>()> check) {
  checks_.push_back({std::move(name), live, std::move(check)});
}

bool Health::serves(std::string_view path) { return !root_of(path).empty(); }

Task<Result<>> Health::serve(Request& request) {
  const std::string_view path = request.info.path;
  const std::string_view root = root_of(path);
  const std::string_view one = path.size() > root.size() ? path.substr(root.size() + 1) : "";
  const std::vector<std::string_view> excluded = request.query.all("exclude");

  std::string report;
  bool healthy = true;
  bool found = one.empty();
  for (const Check& check : checks_) {
    if (root == "/livez" && !check.live) continue;
    if (!one.empty() && check.name != one) continue;
    found = true;
    if (std::ranges::find(excluded, check.name) != excluded.end()) {
      report.append("[+]").append(check.name).append(" excluded: ok\n");
      continue;
    }
    const Result<> outcome = check.run();
    if (outcome) {
      report.append("[+]").append(check.name).append(" ok\n");
    } else {
      healthy = false;
      report.append("[-]").append(check.name).append(" failed: ");
      report.append(outcome.error().message).append("\n");
    }
  }
  if (!found) co_return co_await send_text(request, 404, "404 page not found\n");
  if (!healthy) {
    log::warning("health check failed", {{"path", path}, {"report", report}});
    report.append(root.substr(1)).append(" check failed\n");
    co_return co_await send_text(request, 500, std::move(report));
  }
  if (!request.query.has("verbose")) co_return co_await send_text(request, 200, "ok");
  report.append(root.substr(1)).append(" check passed\n");
  co_return co_await send_text(request, 200, std::move(report));
}

}  // namespace fairlead::apiserver
