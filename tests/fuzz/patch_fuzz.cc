// Patches of every kind against a live object: the input is two JSON values, the object and the
// patch.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "apimachinery/json_patch.h"
#include "apimachinery/managed_fields.h"
#include "apimachinery/merge_patch.h"
#include "apimachinery/server_side_apply.h"
#include "apimachinery/strategic_merge.h"
#include "base/check.h"
#include "resource/catalog.h"

using namespace fairlead;                // NOLINT
using namespace fairlead::apimachinery;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t split = text.find('\n');
  if (split == std::string_view::npos) return 0;
  wire::JsonParseOptions options;
  options.max_depth = 40;
  const auto live = wire::parse_json(text.substr(0, split), options);
  const auto patch = wire::parse_json(text.substr(split + 1), options);
  if (!live || !patch) return 0;

  (void)apply_json_patch(live->value, patch->value);
  Json merged = live->value;
  apply_merge_patch(merged, patch->value);
  if (!live->value.is_object()) return 0;

  const resource::Catalog& catalog = resource::builtin_catalog();
  const resource::Kind* service = catalog.find("", "v1", "services");
  CHECK(service != nullptr);
  (void)apply_strategic_merge(service->schema, live->value, patch->value);
  const Writer writer{"fuzz", "", "2024-01-01T00:00:00Z"};
  if (patch->value.is_object()) {
    Json config = patch->value;
    config.get_object()["apiVersion"] = "v1";
    config.get_object()["kind"] = "Service";
    (void)server_side_apply(*service, nullptr, config, {writer, false});
    const auto applied = server_side_apply(*service, &live->value, config, {writer, true});
    if (applied) {
      const auto again = server_side_apply(*service, &*applied, config, {writer, false});
      // An apply that went through goes through again.
      CHECK(again.has_value());
    }
    // Metadata that is no object has been refused before these.
    Json updated = patch->value;
    Json& metadata = updated.get_object()["metadata"];
    if (!metadata.is_object()) metadata = JsonObject{};
    track_update(*service, live->value, updated, writer);
    track_create(*service, updated, writer);
  }
  return 0;
}
