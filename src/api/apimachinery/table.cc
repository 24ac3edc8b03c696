#include "api/apimachinery/table.h"

#include "api/apimachinery/partial_metadata.h"

namespace fairlead::apimachinery {

Answer<IncludeObject> parse_include_object(std::string_view value) {
  if (value.empty() || value == "Metadata") return IncludeObject::metadata;
  if (value == "Object") return IncludeObject::object;
  if (value == "None") return IncludeObject::none;
  const auto error = resource::invalid("includeObject", Json(value),
                                       "must be 'Metadata', 'Object', 'None', or empty");
  return refuse(bad_request("Unable to convert to Table as requested: " + error.to_string()));
}

JsonObject ListMeta::to_json() const {
  JsonObject object;
  if (!resource_version.empty()) object["resourceVersion"] = resource_version;
  if (!continue_token.empty()) object["continue"] = continue_token;
  if (remaining) object["remainingItemCount"] = *remaining;
  return object;
}

JsonArray make_column_definitions(const resource::Kind& kind) {
  JsonArray definitions;
  for (const resource::Column& column : kind.columns) {
    JsonObject definition;
    definition["name"] = column.name;
    definition["type"] = column.type;
    definition["format"] = column.format;
    definition["description"] = column.description;
    definition["priority"] = column.priority;
    definitions.push_back(std::move(definition));
  }
  return definitions;
}

Json make_table_row(const resource::Kind& kind, const Json& object, const TableOptions& options) {
  JsonArray cells;
  cells.reserve(kind.columns.size());
  for (const resource::Column& column : kind.columns) {
    cells.push_back(column.cell(object, options.now));
  }
  JsonObject row;
  row["cells"] = std::move(cells);
  switch (options.include) {
    case IncludeObject::none:
      row["object"] = nullptr;
      break;
    case IncludeObject::metadata:
      row["object"] = make_partial_metadata(object, options.meta_version);
      break;
    case IncludeObject::object:
      row["object"] = object;
      break;
  }
  return row;
}

Json make_table(const resource::Kind& kind, std::span<const Json* const> objects,
                const ListMeta& list, const TableOptions& options) {
  JsonArray rows;
  rows.reserve(objects.size());
  for (const Json* object : objects) rows.push_back(make_table_row(kind, *object, options));
  JsonObject table;
  table["kind"] = "Table";
  table["apiVersion"] = "meta.k8s.io/" + options.meta_version;
  table["metadata"] = list.to_json();
  if (options.column_definitions) {
    table["columnDefinitions"] = make_column_definitions(kind);
  } else {
    table["columnDefinitions"] = nullptr;
  }
  table["rows"] = std::move(rows);
  return table;
}

}  // namespace fairlead::apimachinery
