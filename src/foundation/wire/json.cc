// Paths and parsing; the writers are in json_encode.cc.
#include "foundation/wire/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>
#include <cmath>
#include <optional>

#include "foundation/base/check.h"
#include "foundation/wire/json_duplicates.h"

namespace fairlead::wire {
namespace {

namespace bj = boost::json;

// Boost's objects hash with a fixed seed, so a stranger can choose keys that all collide. The limit
// keeps the worst case at a fraction of a second; no honest object comes near it.
constexpr std::size_t kMaxMembers = 20'000;

// Knows where in the text the parser is, and so which members are read over.
class Skipper {
 public:
  explicit Skipper(std::span<const std::string_view> paths) : paths_(paths) {
    for (const std::string_view path : paths)
      deepest_ = std::max(deepest_, 1 + static_cast<std::size_t>(std::ranges::count(path, '.')));
  }

  bool skipping() const { return skipped_values_ > 0; }

  // True: this member is read over.
  bool key(std::string_view text, bool whole) {
    if (paths_.empty() || skipping() || parents_.size() > deepest_) return false;
    path_.resize(parents_.back());
    if (!path_.empty()) path_.push_back('.');
    const bool plain = whole && !text.empty() && text.find('.') == std::string_view::npos;
    path_.append(plain ? text : kNowhere);
    if (!plain || std::ranges::find(paths_, path_) == paths_.end()) return false;
    skipped_values_ = 1;  // itself
    ++left_out_.back();
    return true;
  }
  void open_object() {
    if (paths_.empty()) return;
    if (skipping()) {
      ++skipped_values_;
      return;
    }
    parents_.push_back(path_.size());
    left_out_.push_back(0);
  }
  // Paths do not lead into arrays.
  void open_array() {
    if (!paths_.empty() && !skipping()) path_.append(kNowhere);
    open_object();
  }
  // A value that is neither. True: it is read over.
  bool value() {
    if (!skipping()) return false;
    if (skipped_values_ == 1) skipped_values_ = 0;
    return true;
  }
  // How many of its members were left out; nothing if it is itself.
  std::optional<std::size_t> close() {
    if (paths_.empty()) return 0;
    if (skipping()) {
      if (--skipped_values_ == 1) skipped_values_ = 0;
      return std::nullopt;
    }
    const std::size_t left_out = left_out_.back();
    left_out_.pop_back();
    path_.resize(parents_.back());
    parents_.pop_back();
    return left_out;
  }

 private:
  static constexpr std::string_view kNowhere = "[";  // in no path

  std::span<const std::string_view> paths_;
  std::size_t deepest_ = 0;
  std::string path_;                   // of the member that is being read
  std::vector<std::size_t> parents_;   // how much of it leads to each open object
  std::vector<std::size_t> left_out_;  // of each open object
  std::size_t skipped_values_ = 0;     // the member read over, and what is open inside of it
};

// Builds the value and counts members. An object given a key twice keeps the last; the count then
// exceeds what the finished value holds, which is how duplicates are noticed for free.
class ValueBuilder {
 public:
  static constexpr std::size_t max_object_size = kMaxMembers;
  static constexpr std::size_t max_array_size = bj::array::max_size();
  static constexpr std::size_t max_key_size = bj::string::max_size();
  static constexpr std::size_t max_string_size = bj::string::max_size();

  ValueBuilder(bj::storage_ptr memory, std::span<const std::string_view> skip)
      : memory_(std::move(memory)), skipper_(skip) {}

  bool on_document_begin(bj::error_code&) {
    stack_.reset(memory_);
    return true;
  }
  bool on_document_end(bj::error_code&) { return true; }
  bool on_object_begin(bj::error_code&) {
    skipper_.open_object();
    return true;
  }
  bool on_object_end(std::size_t n, bj::error_code&) {
    const std::optional<std::size_t> left_out = skipper_.close();
    if (!left_out) return true;
    stack_.push_object(n - *left_out);
    members_ += n;
    return true;
  }
  bool on_array_begin(bj::error_code&) {
    skipper_.open_array();
    return true;
  }
  bool on_array_end(std::size_t n, bj::error_code&) {
    if (skipper_.close()) stack_.push_array(n);
    return true;
  }
  bool on_key_part(bj::string_view text, std::size_t, bj::error_code&) {
    if (!skipper_.skipping()) stack_.push_chars(text);
    return true;
  }
  bool on_key(bj::string_view text, std::size_t size, bj::error_code&) {
    if (!skipper_.key(text, text.size() == size) && !skipper_.skipping()) stack_.push_key(text);
    return true;
  }
  bool on_string_part(bj::string_view text, std::size_t, bj::error_code&) {
    if (!skipper_.skipping()) stack_.push_chars(text);
    return true;
  }
  bool on_string(bj::string_view text, std::size_t, bj::error_code&) {
    if (!skipper_.value()) stack_.push_string(text);
    return true;
  }
  bool on_number_part(bj::string_view, bj::error_code&) { return true; }
  bool on_int64(std::int64_t number, bj::string_view, bj::error_code&) {
    if (!skipper_.value()) stack_.push_int64(number);
    return true;
  }
  bool on_uint64(std::uint64_t number, bj::string_view, bj::error_code&) {
    if (!skipper_.value()) stack_.push_uint64(number);
    return true;
  }
  // Boost 1.81 may be off by the last bit; from_chars is exact, so a number survives a round trip.
  bool on_double(double approximate, bj::string_view text, bj::error_code& ec) {
    double number = approximate;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc{} || end != text.data() + text.size()) number = approximate;
    if (!std::isfinite(number)) {
      ec = bj::error::exponent_overflow;
      return false;
    }
    if (!skipper_.value()) stack_.push_double(number);
    return true;
  }
  bool on_bool(bool value, bj::error_code&) {
    if (!skipper_.value()) stack_.push_bool(value);
    return true;
  }
  bool on_null(bj::error_code&) {
    if (!skipper_.value()) stack_.push_null();
    return true;
  }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }

  Json release() { return stack_.release(); }
  std::size_t members() const { return members_; }

 private:
  bj::storage_ptr memory_;
  Skipper skipper_;
  unsigned char scratch_[4096];  // for what is not yet part of the value
  bj::value_stack stack_{{}, scratch_, sizeof scratch_};
  std::size_t members_ = 0;
};

std::size_t count_members(const Json& value) {
  std::size_t count = 0;
  if (const JsonObject* object = value.if_object()) {
    count = object->size();
    for (const auto& member : *object) {
      if (member.value().is_structured()) count += count_members(member.value());
    }
  } else if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array) {
      if (item.is_structured()) count += count_members(item);
    }
  }
  return count;
}

Error parse_error(const bj::error_code& ec, std::string_view text, std::size_t offset) {
  std::string what;
  if (ec == bj::error::incomplete || (ec == bj::error::syntax && offset >= text.size())) {
    what = "unexpected end of JSON input";
  } else if (ec == bj::error::extra_data) {
    what = "unexpected data after the value";
  } else if (ec == bj::error::too_deep) {
    what = "exceeded max depth";
  } else if (ec == bj::error::object_too_large) {
    what = "object has too many fields";
  } else if (ec == bj::error::syntax && offset < text.size() && text[offset] > 0x20 &&
             text[offset] < 0x7f) {
    what = std::string("unexpected character '") + text[offset] + "'";
  } else {
    what = ec.message();
  }
  return {Code::invalid, "JSON offset " + std::to_string(offset) + ": " + what};
}

}  // namespace

Result<ParsedJson> parse_json(std::string_view text, const JsonParseOptions& options) {
  if (text.size() > options.max_bytes) {
    return fail(Code::invalid, "JSON text of " + std::to_string(text.size()) +
                                   " bytes exceeds the limit of " +
                                   std::to_string(options.max_bytes));
  }
  bj::parse_options parser_options;
  parser_options.max_depth = options.max_depth;
  bj::basic_parser<ValueBuilder> parser(parser_options, options.memory, options.skip);
  bj::error_code ec;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && used < text.size()) ec = bj::error::extra_data;
  if (ec) return fail(parse_error(ec, text, used));

  ParsedJson parsed{.value = parser.handler().release(), .duplicates = {}};
  if (options.skip.empty() && count_members(parsed.value) != parser.handler().members()) {
    parsed.duplicates = duplicate_fields(text, options.max_depth);
  }
  return parsed;
}

const Json* find(const Json& value, std::string_view path) {
  const Json* at = &value;
  while (true) {
    const JsonObject* object = at->if_object();
    if (!object) return nullptr;
    const std::size_t dot = path.find('.');
    at = object->if_contains(path.substr(0, dot));
    if (!at || dot == std::string_view::npos) return at;
    path.remove_prefix(dot + 1);
  }
}

Json* find(Json& value, std::string_view path) {
  return const_cast<Json*>(find(std::as_const(value), path));
}

std::string_view find_string(const Json& value, std::string_view path) {
  const Json* at = find(value, path);
  const bj::string* text = at ? at->if_string() : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

JsonObject& member_object(JsonObject& object, std::string_view name) {
  Json& member = object[name];
  if (member.is_null()) member.emplace_object();
  CHECK(member.is_object());
  return member.get_object();
}

}  // namespace fairlead::wire
