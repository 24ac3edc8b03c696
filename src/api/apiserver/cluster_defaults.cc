#include "api/apiserver/cluster_defaults.h"

#include "foundation/base/log.h"

namespace fairlead::apiserver {
namespace {

constexpr std::string_view kNamespaces[] = {"default", "kube-system", "kube-public",
                                            "kube-node-lease", "fairlead-node-lease"};
constexpr Duration kRetryPause = 1s;

Task<Result<>> ensure_namespace(runtime::Runtime& runtime, const resource::Kind& kind,
                                ObjectWriter& writer, std::string_view name) {
  const WriteContext context{.kind = &kind,
                             .options = {.field_manager = "fairlead"},
                             .now = runtime.wall_now(),
                             .random = [&runtime] { return runtime.random(); }};
  const Json object = JsonObject{{"metadata", JsonObject{{"name", name}}}};
  WriteItem item{.kind = &kind, .create = true};
  item.plan = [&](const Json*) { return plan_create(context, object); };
  const WriteResult<Written> written = co_await writer.write(std::move(item));
  if (!written && written.error().code != Code::already_exists) co_return fail(written.error());
  co_return Result<>{};
}

}  // namespace

Task<Result<>> ensure_defaults(runtime::Runtime& runtime, watchcache::WatchCache& cache,
                               const resource::Catalog& catalog, ObjectWriter& writer) {
  FL_CO_CHECKED(co_await cache.wait_ready());
  const resource::Kind& kind = *catalog.find("", "v1", "namespaces");
  for (const std::string_view name : kNamespaces) {
    for (;;) {
      if (cache.of(kind).find(name)) break;
      const Result<> made = co_await ensure_namespace(runtime, kind, writer, name);
      if (made) break;
      log::warning("namespace not made yet", {{"name", name}, {"error", made.error().message}});
      FL_CO_CHECKED(co_await runtime::sleep(runtime, kRetryPause));
    }
  }
  co_return Result<>{};
}

}  // namespace fairlead::apiserver
