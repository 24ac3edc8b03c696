// Table: what kubectl asks for when it prints. One row per object, cells from the kind's columns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/apimachinery/status.h"
#include "api/resource/kind.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

enum class IncludeObject { none, metadata, object };

// The query parameter includeObject; absent means metadata.
Answer<IncludeObject> parse_include_object(std::string_view value);

struct ListMeta {
  std::string resource_version;
  std::string continue_token;
  std::optional<std::int64_t> remaining;

  JsonObject to_json() const;
};

struct TableOptions {
  std::string meta_version = "v1";  // of meta.k8s.io, as negotiated
  IncludeObject include = IncludeObject::metadata;
  bool column_definitions = true;  // only the first event of a watch carries them; later ones null
  resource::Moment now{};          // ages are counted from the objects to here
};

// A list, a single object, or one watch event (bookmarks included) as a Table.
Json make_table(const resource::Kind& kind, std::span<const Json* const> objects,
                const ListMeta& list, const TableOptions& options);

// One row of it, for callers that stream a long table.
Json make_table_row(const resource::Kind& kind, const Json& object, const TableOptions& options);
JsonArray make_column_definitions(const resource::Kind& kind);

}  // namespace fairlead::apimachinery
