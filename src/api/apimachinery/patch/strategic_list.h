// Lists in a strategic merge: merging by key or as sets, and the order of the result. Only
// strategic_merge.cc uses it.
#pragma once

#include <functional>

#include "api/apimachinery/status.h"
#include "api/resource/schema/schema.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

using MergeItem = std::function<Answer<>(JsonObject& item, const JsonObject& changes)>;

// `order` is the list of $setElementOrder, null without one.
Answer<> merge_strategic_list(const resource::Schema& schema, JsonArray& list,
                              const JsonArray& patch, const JsonArray* order,
                              const MergeItem& merge_item);

// Items named in `order` come in that order; the others keep the order they have in `before`, each
// ahead of the first ordered item that it preceded there.
void order_strategic_list(const resource::Schema& schema, JsonArray& list, const JsonArray& order,
                          const JsonArray& before);

void remove_primitives(JsonArray& list, const JsonArray& gone);

}  // namespace fairlead::apimachinery
