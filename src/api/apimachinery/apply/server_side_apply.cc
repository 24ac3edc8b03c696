#include "api/apimachinery/apply/server_side_apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/apimachinery/apply/typed_walk.h"
#include "api/apimachinery/request/quoted.h"

namespace fairlead::apimachinery {
namespace {

using resource::Kind;

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::string_view kBeforeFirstApply = "before-first-apply";

// null in a configuration means the same as leaving the field out.
void drop_null_members(Json& value) {
  if (JsonObject* object = value.if_object()) {
    std::vector<std::string> nulls;
    for (auto& member : *object) {
      if (member.value().is_null()) {
        nulls.emplace_back(member.key());
      } else {
        drop_null_members(member.value());
      }
    }
    for (const std::string& name : nulls) object->stable_erase(name);
  } else if (JsonArray* array = value.if_array()) {
    for (Json& item : *array) drop_null_members(item);
  }
}

Answer<> check_config(const Kind& kind, const Json& config) {
  if (!config.is_object()) return refuse(bad_request("apply: the body must be an object"));
  const std::string_view api_version = wire::find_string(config, "apiVersion");
  const std::string_view kind_name = wire::find_string(config, "kind");
  if (api_version.empty() || kind_name.empty()) {
    return refuse(bad_request("invalid object type: apiVersion and kind must be given"));
  }
  if (kind_name != kind.kind || api_version != kind.api_version()) {
    return refuse(
        bad_request(fmt::format("invalid object type: {}, Kind={}", api_version, kind_name)));
  }
  const Json* metadata = wire::find(config, "metadata");
  if (metadata && !metadata->is_null() && !metadata->is_object()) {
    return refuse(bad_request("metadata must be an object"));
  }
  const Json* managed = wire::find(config, "metadata.managedFields");
  if (managed && !managed->is_null()) {
    return refuse(bad_request("metadata.managedFields must be nil"));
  }
  return {};
}

struct FieldConflict {
  const ManagedEntry* owner = nullptr;
  std::string path;
};

std::string manager_text(const ManagedEntry& entry) {
  std::string text = quoted(entry.manager);
  if (!entry.subresource.empty()) text += " with subresource " + quoted(entry.subresource);
  if (!entry.apply) text += " using " + entry.api_version;
  return text;
}

std::string conflict_message(const std::vector<FieldConflict>& conflicts) {
  if (conflicts.size() == 1) {
    return fmt::format("Apply failed with 1 conflict: conflict with {}: {}",
                       manager_text(*conflicts.front().owner), conflicts.front().path);
  }
  std::map<std::string, std::vector<std::string>> by_manager;
  for (const FieldConflict& conflict : conflicts) {
    by_manager[manager_text(*conflict.owner)].push_back(conflict.path);
  }
  std::vector<std::string> lines;
  for (const auto& [manager, paths] : by_manager) {
    lines.push_back(fmt::format("conflicts with {}:", manager));
    for (const std::string& path : paths) lines.push_back("- " + path);
  }
  return fmt::format("Apply failed with {} conflicts: {}", conflicts.size(),
                     fmt::join(lines, "\n"));
}

Status conflict_status(const std::vector<FieldConflict>& conflicts) {
  std::vector<StatusCause> causes;
  for (const FieldConflict& conflict : conflicts) {
    causes.push_back(
        {"FieldManagerConflict", "conflict with " + manager_text(*conflict.owner), conflict.path});
  }
  return apply_conflict(conflict_message(conflicts), std::move(causes));
}

// One apply: the entry of the applying manager is mine(), all others keep or lose fields.
class Application {
 public:
  Application(const Kind& kind, const Json& live, const Json& config, const ApplyOptions& options)
      : kind_(kind), live_(live), config_(config), options_(options), entries_(live_entries(live)) {
    mine_.manager = options.writer.manager.empty() ? "unknown" : options.writer.manager;
    mine_.apply = true;
    mine_.api_version = kind.api_version();
    mine_.time = options.writer.now;
    mine_.subresource = options.writer.subresource;
  }

  Answer<Json> run() {
    track_existing_fields();
    const FieldSet last_applied = take_my_entry();
    mine_.fields = applied_fields(kind_.schema, config_);
    keep_trackable(kind_, mine_.subresource, mine_.fields);

    auto merged = merge_objects(kind_.schema, live_, config_);
    if (!merged) return refuse(bad_request(merged.error().message));
    Json object = last_applied.empty() ? std::move(*merged) : prune(*merged, last_applied);

    Comparison comparison = compare_objects(
        kind_.schema, live_, object,
        [&](std::string_view member) { return is_trackable(kind_, mine_.subresource, member); });
    if (auto refused = take_from_others(comparison); !refused) {
      return std::unexpected(std::move(refused).error());
    }
    update_last_applied_annotation(object);
    remove_ownerless_metadata(mine_.fields);
    entries_.push_back(mine_);
    set_managed_fields(object, std::move(entries_));
    return object;
  }

 private:
  // What was there before the first apply belongs to whoever wrote it, under one name.
  void track_existing_fields() {
    if (!entries_.empty() || live_.get_object().empty()) return;
    Writer before = options_.writer;
    before.manager = kBeforeFirstApply;
    Json untracked = live_;
    ManagedEntry entry = whole_object_entry(kind_, untracked, before);
    if (!entry.fields.empty()) entries_.push_back(std::move(entry));
  }

  FieldSet take_my_entry() {
    const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const ManagedEntry& entry) {
      return entry.same_identity(mine_);
    });
    if (it == entries_.end()) return {};
    FieldSet fields = std::move(it->fields);
    entries_.erase(it);
    return fields;
  }

  // Removes what this manager applied last time and not now, unless someone else owns it.
  Json prune(const Json& merged, const FieldSet& last_applied) const {
    const resource::Schema& schema = kind_.schema;
    FieldSet managed = mine_.fields;
    for (const ManagedEntry& entry : entries_) managed = managed.unite(entry.fields);
    const FieldSet last = with_named_parents(schema, last_applied);
    const FieldSet in_merged = with_named_parents(schema, applied_fields(schema, merged));

    // Without everything applied last time; then with what is owned put back; then with what was
    // never this manager's put back.
    Json pruned = remove_fields(schema, merged, last);
    FieldSet kept = with_named_parents(schema, applied_fields(schema, pruned));
    kept = kept.unite(with_named_parents(schema, managed));
    pruned = remove_fields(schema, merged, in_merged.subtract(kept));
    kept = with_named_parents(schema, applied_fields(schema, pruned));
    return remove_fields(schema, merged, in_merged.subtract(kept).intersect(last));
  }

  Answer<> take_from_others(const Comparison& comparison) {
    std::vector<FieldConflict> conflicts;
    for (const ManagedEntry& entry : entries_) {
      for (std::string& path : entry.fields.intersect(comparison.changed).paths()) {
        conflicts.push_back({&entry, std::move(path)});
      }
    }
    if (!conflicts.empty() && !options_.force && !allowed_by_last_applied(comparison)) {
      return refuse(conflict_status(conflicts));
    }
    for (ManagedEntry& entry : entries_) {
      entry.fields = entry.fields.subtract(comparison.changed).subtract(comparison.removed);
    }
    return {};
  }

  // kubectl moving from client-side to server-side apply: its own annotation proves that these
  // fields are its own.
  bool allowed_by_last_applied(const Comparison& comparison) const {
    const Json* annotation = last_applied_annotation(live_);
    if (mine_.manager != "kubectl" || !annotation) return false;
    auto parsed = wire::parse_json(std::string_view(annotation->get_string()));
    if (!parsed || wire::find_string(parsed->value, "apiVersion") != kind_.api_version()) {
      return false;
    }
    const Comparison drift = compare_objects(kind_.schema, parsed->value, live_);
    const FieldSet own =
        applied_fields(kind_.schema, parsed->value).subtract(drift.changed).subtract(drift.removed);
    return std::all_of(entries_.begin(), entries_.end(), [&](const ManagedEntry& entry) {
      return entry.fields.intersect(comparison.changed).subtract(own).empty();
    });
  }

  static const Json* last_applied_annotation(const Json& object) {
    const Json* annotations = wire::find(object, "metadata.annotations");
    if (!annotations || !annotations->is_object()) return nullptr;
    const Json* value = annotations->get_object().if_contains(kLastApplied);
    return value && value->is_string() && !value->get_string().empty() ? value : nullptr;
  }

  // An object that carries kubectl's annotation keeps a true one, so that the user can go back.
  void update_last_applied_annotation(Json& object) const {
    if (mine_.manager != "kubectl" || !last_applied_annotation(object)) return;
    Json applied = config_;
    if (Json* annotations = wire::find(applied, "metadata.annotations");
        annotations && annotations->is_object()) {
      annotations->get_object().stable_erase(kLastApplied);
    }
    wire::find(object, "metadata.annotations")->get_object()[kLastApplied] =
        wire::encode_json(applied) + "\n";
  }

  const Kind& kind_;
  const Json& live_;
  const Json& config_;
  const ApplyOptions& options_;
  ManagedEntries entries_;
  ManagedEntry mine_;
};

}  // namespace

Answer<Json> server_side_apply(const Kind& kind, const Json* live, const Json& config,
                               const ApplyOptions& options) {
  if (auto checked = check_config(kind, config); !checked) {
    return std::unexpected(std::move(checked).error());
  }
  Json wanted = config;
  drop_null_members(wanted);
  const Json nothing = JsonObject();
  const Json& current = live ? *live : nothing;
  Answer<Json> object = Application(kind, current, wanted, options).run();
  if (object && live && same_but_for_managed_times(*live, *object)) return *live;
  return object;
}

}  // namespace fairlead::apimachinery
