#include "api/resource/kind.h"

namespace fairlead::resource {

std::string selected_value(const Json& object, std::string_view path) {
  const Json* value = wire::find(object, path);
  if (!value || value->is_null()) return "";
  if (const boost::json::string* text = value->if_string()) return std::string(*text);
  if (value->is_object()) return std::string(wire::find_string(*value, "component"));
  return wire::encode_json(*value);
}

}  // namespace fairlead::resource
