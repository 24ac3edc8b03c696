// Building blocks for the columns of `kubectl get`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/resource/kind.h"

namespace fairlead::resource {

using Cell = std::function<Json(const Json& object, Moment now)>;

Column name_column();
// The object's age. Kubernetes' core kinds say type string, custom kinds date.
Column age_column(std::string type = "string");
Column column(std::string name, std::string type, std::string description, Cell cell);
// Shown with -o wide only.
Column wide_column(std::string name, std::string type, std::string description, Cell cell);
// The string at `path`; "" when absent.
Cell text_at(std::string path);

// "a=1,b=2" in order of key, "<none>" when there is nothing.
std::string join_labels(const Json* map);
// "a,b,c + 2 more...": at most three, and "<none>"-like text for none.
std::string join_first_three(const std::vector<std::string>& texts, std::string_view none);
std::string join(const std::vector<std::string>& texts, std::string_view separator);

// The items of the list at `path`; empty when there is none.
const JsonArray& items_at(const Json& object, std::string_view path);
// The members of the map at `path`; empty when there is none.
const JsonObject& members_at(const Json& object, std::string_view path);
// The strings among the items of the list at `path`.
std::vector<std::string> strings_at(const Json& object, std::string_view path);

}  // namespace fairlead::resource
