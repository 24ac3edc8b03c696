// The reader: yaml-cpp's events become a JSON value. The writer is in yaml_encode.cc.
//
// yaml-cpp's own node graph is not used: events let depth and alias expansion be bounded as they
// come.
#include "foundation/wire/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "foundation/wire/utf8.h"
#include "foundation/wire/yaml_scalar.h"

namespace fairlead::wire {
namespace {

// yaml-cpp's mark of nowhere is -1, -1.
YamlPlace place_of(const YAML::Mark& mark) {
  return {.line = static_cast<std::size_t>(std::max(mark.line, 0)) + 1,
          .column = static_cast<std::size_t>(std::max(mark.column, 0)) + 1};
}

std::string place(const YAML::Mark& mark) {
  return "YAML line " + std::to_string(mark.line + 1) + ", column " +
         std::to_string(mark.column + 1) + ": ";
}

// Rough memory of a value, the unit in which aliases are paid for.
std::size_t weight(const Json& value) {
  constexpr std::size_t kNode = 16;
  std::size_t sum = kNode;
  if (const JsonObject* object = value.if_object()) {
    for (const auto& member : *object) sum += member.key().size() + weight(member.value());
  } else if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array) sum += weight(item);
  } else if (const boost::json::string* text = value.if_string()) {
    sum += text->size();
  }
  return sum;
}

class DocumentBuilder final : public YAML::EventHandler {
 public:
  // `places` null: they are not asked for.
  DocumentBuilder(const JsonParseOptions& options, YamlPlaces* places)
      : max_depth_(options.max_depth), alias_budget_(options.max_bytes), places_(places) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    complete(mark, anchor, Json(nullptr));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (error_) return;
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) return refuse(mark, "an alias inside its own anchor");
    if (pay(mark, known->second)) place_value(mark, known->second);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (error_) return;
    if (is_merge_key(tag, text)) {
      stack_.back().merging = true;
      stack_.back().has_key = true;
      return;
    }
    const bool plain = tag == "?" || tag.empty() || tag == "tag:yaml.org,2002:int" ||
                       tag == "tag:yaml.org,2002:float" || tag == "tag:yaml.org,2002:bool" ||
                       tag == "tag:yaml.org,2002:null";
    if (!plain) return complete(mark, anchor, Json(text));
    auto value = resolve_plain_scalar(text);
    if (!value) return refuse(mark, "number \"" + text + "\" does not fit JSON");
    complete(mark, anchor, std::move(*value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, JsonArray());
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, JsonObject());
  }
  void OnMapEnd() override { close(); }

  Result<ParsedJson> take() {
    if (error_) return fail(std::move(*error_));
    return ParsedJson{.value = std::move(root_), .duplicates = std::move(duplicates_)};
  }
  bool empty() const { return root_.is_null(); }

 private:
  struct Frame {
    Json value;
    YAML::anchor_t anchor = 0;
    YAML::Mark mark;
    bool has_key = false;
    bool merging = false;  // the pending key is "<<"
    std::string key;
    YAML::Mark key_mark;
    JsonObject merged;  // members that "<<" brings, used where the map itself has none
  };

  bool is_merge_key(const std::string& tag, const std::string& text) const {
    return tag == "?" && text == "<<" && !stack_.empty() && stack_.back().value.is_object() &&
           !stack_.back().has_key;
  }

  void refuse(const YAML::Mark& mark, const std::string& what) {
    if (error_) return;
    error_ = Error{Code::invalid, places_ ? what : place(mark) + what};
    if (places_) places_->failure = place_of(mark);
  }

  bool pay(const YAML::Mark& mark, const Json& copied) {
    const std::size_t cost = weight(copied);
    if (cost > alias_budget_) {
      refuse(mark, "anchors and aliases expand beyond the limit");
      return false;
    }
    alias_budget_ -= cost;
    return true;
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Json container) {
    if (error_) return;
    if (stack_.size() >= max_depth_) return refuse(mark, "exceeded max depth");
    Frame frame;
    frame.value = std::move(container);
    frame.anchor = anchor;
    frame.mark = mark;
    stack_.push_back(std::move(frame));
  }

  void close() {
    if (error_) return;
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    if (JsonObject* object = frame.value.if_object()) {
      for (auto& member : frame.merged) {
        if (!object->contains(member.key()))
          object->emplace(member.key(), std::move(member.value()));
      }
    }
    complete(frame.mark, frame.anchor, std::move(frame.value));
  }

  void complete(const YAML::Mark& mark, YAML::anchor_t anchor, Json value) {
    if (error_) return;
    if (anchor != 0) {
      if (!pay(mark, value)) return;
      anchors_[anchor] = value;
    }
    place_value(mark, std::move(value));
  }

  void place_value(const YAML::Mark& mark, Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& top = stack_.back();
    if (JsonArray* array = top.value.if_array()) {
      if (places_) remember(places_->at, mark);
      array->push_back(std::move(value));
    } else if (!top.has_key) {
      top.key_mark = mark;
      if (value.is_structured()) return refuse(mark, "a map key must be a scalar");
      top.key = value.is_string() ? std::string(value.get_string()) : encode_json(value);
      top.has_key = true;
    } else {
      top.has_key = false;
      if (std::exchange(top.merging, false)) return merge(mark, top, std::move(value));
      set_member(top, std::move(value));
    }
  }

  // A long key above many items would make paths that take thousands of times the text's memory.
  void remember(std::map<std::string, YamlPlace, std::less<>>& into, const YAML::Mark& mark) {
    if (place_bytes_ >= kMostPlaceBytes) return;
    std::string path = pending_path();
    place_bytes_ += path.size();
    into[std::move(path)] = place_of(mark);
  }

  void set_member(Frame& top, Json value) {
    JsonObject& object = top.value.get_object();
    const auto [member, inserted] = object.emplace(top.key, nullptr);
    if (places_) remember(inserted ? places_->at : places_->duplicates, top.key_mark);
    if (!inserted) {
      constexpr std::size_t kMaxReported = 100;
      std::string path = pending_path();
      if (duplicates_.size() < kMaxReported &&
          std::ranges::find(duplicates_, path) == duplicates_.end()) {
        duplicates_.push_back(std::move(path));
      }
    }
    member->value() = std::move(value);
  }

  void merge(const YAML::Mark& mark, Frame& top, Json value) {
    JsonArray sources;
    if (JsonArray* list = value.if_array()) {
      sources = std::move(*list);
    } else {
      sources.push_back(std::move(value));
    }
    for (Json& source : sources) {
      if (!source.is_object()) return refuse(mark, "map merge requires map or sequence of maps");
      for (auto& member : source.get_object()) {
        top.merged.emplace(member.key(), std::move(member.value()));  // the first source wins
      }
    }
  }

  std::string pending_path() const {
    std::string path;
    for (const Frame& frame : stack_) {
      if (const JsonArray* array = frame.value.if_array()) {
        path += "[" + std::to_string(array->size()) + "]";
      } else {
        if (!path.empty()) path += '.';
        path += frame.key;
      }
    }
    return path;
  }

  std::size_t max_depth_;
  std::size_t alias_budget_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Json> anchors_;
  Json root_;
  std::vector<std::string> duplicates_;
  std::optional<Error> error_;
  YamlPlaces* places_;
  std::size_t place_bytes_ = 0;  // of the paths that places_ has
};

bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

Result<ParsedJson> parse_document(std::string_view text, const JsonParseOptions& options,
                                  YamlPlaces* places) {
  if (text.size() > options.max_bytes) {
    return fail(Code::invalid, "YAML text of " + std::to_string(text.size()) +
                                   " bytes exceeds the limit of " +
                                   std::to_string(options.max_bytes));
  }
  if (!is_utf8(text)) return fail(Code::invalid, "YAML text is not UTF-8");
  // A zero byte would also make yaml-cpp guess UTF-16 or UTF-32.
  const bool has_control = std::ranges::any_of(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
  if (has_control) return fail(Code::invalid, "YAML: control characters are not allowed");
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    DocumentBuilder document(options, places);
    parser.HandleNextDocument(document);
    auto parsed = document.take();
    DocumentBuilder rest(options, nullptr);
    if (parsed && parser.HandleNextDocument(rest) && !rest.empty()) {
      return fail(Code::invalid, "YAML: more than one document");
    }
    return parsed;
  } catch (const YAML::Exception& error) {
    if (places) places->failure = place_of(error.mark);
    return fail(Code::invalid, (places ? "" : place(error.mark)) + error.msg);
  } catch (const std::exception& error) {
    return fail(Code::invalid, std::string("YAML: ") + error.what());
  }
}

}  // namespace

YamlPlace YamlPlaces::find(std::string_view path) const {
  for (;;) {
    if (const auto known = at.find(path); known != at.end()) return known->second;
    const std::size_t end = path.find_last_of(".[");
    if (end == std::string_view::npos) return {};
    path = path.substr(0, end);
  }
}

Result<ParsedJson> parse_yaml(std::string_view text, const JsonParseOptions& options) {
  if (looks_like_json(text)) {
    if (auto json = parse_json(text, options)) return json;
  }
  return parse_document(text, options, nullptr);
}

Result<ParsedJson> parse_yaml(std::string_view text, const JsonParseOptions& options,
                              YamlPlaces& places) {
  return parse_document(text, options, &places);
}

}  // namespace fairlead::wire
