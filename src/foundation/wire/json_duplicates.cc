#include "foundation/wire/json_duplicates.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <set>

namespace fairlead::wire {
namespace {

namespace bj = boost::json;

// Follows the document's structure, remembering the names seen in each open object.
class PathTracker {
 public:
  static constexpr std::size_t max_object_size = ~std::size_t{0};
  static constexpr std::size_t max_array_size = ~std::size_t{0};
  static constexpr std::size_t max_key_size = ~std::size_t{0};
  static constexpr std::size_t max_string_size = ~std::size_t{0};
  // Enough to tell a person; a hostile text must not cost memory for every repetition.
  static constexpr std::size_t kMaxReported = 100;

  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) { return true; }
  bool on_object_begin(bj::error_code&) { return open(false); }
  bool on_object_end(std::size_t, bj::error_code&) { return close(); }
  bool on_array_begin(bj::error_code&) { return open(true); }
  bool on_array_end(std::size_t, bj::error_code&) { return close(); }
  bool on_key_part(bj::string_view text, std::size_t, bj::error_code&) {
    key_.append(text);
    return true;
  }
  bool on_key(bj::string_view text, std::size_t, bj::error_code&) {
    key_.append(text);
    Level& level = levels_.back();
    level.name = key_;
    if (!level.seen.insert(std::move(key_)).second) report();
    key_.clear();
    return true;
  }
  bool on_string_part(bj::string_view, std::size_t, bj::error_code&) { return true; }
  bool on_string(bj::string_view, std::size_t, bj::error_code&) { return scalar(); }
  bool on_number_part(bj::string_view, bj::error_code&) { return true; }
  bool on_int64(std::int64_t, bj::string_view, bj::error_code&) { return scalar(); }
  bool on_uint64(std::uint64_t, bj::string_view, bj::error_code&) { return scalar(); }
  bool on_double(double, bj::string_view, bj::error_code&) { return scalar(); }
  bool on_bool(bool, bj::error_code&) { return scalar(); }
  bool on_null(bj::error_code&) { return scalar(); }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }

  std::vector<std::string> take() { return std::move(found_); }

 private:
  struct Level {
    bool array = false;
    std::size_t index = 0;
    std::string name;
    std::set<std::string> seen;
  };

  bool open(bool array) {
    levels_.push_back({.array = array, .index = 0, .name = {}, .seen = {}});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return scalar();
  }
  bool scalar() {
    if (!levels_.empty() && levels_.back().array) ++levels_.back().index;
    return true;
  }
  void report() {
    std::string path;
    for (const Level& level : levels_) {
      if (level.array) {
        path += "[" + std::to_string(level.index) + "]";
      } else {
        if (!path.empty()) path += '.';
        path += level.name;
      }
    }
    if (found_.size() < kMaxReported && std::ranges::find(found_, path) == found_.end()) {
      found_.push_back(std::move(path));
    }
  }

  std::vector<Level> levels_;
  std::string key_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> duplicate_fields(std::string_view text, std::size_t max_depth) {
  bj::parse_options options;
  options.max_depth = max_depth;
  bj::basic_parser<PathTracker> parser(options);
  bj::error_code ec;
  parser.write_some(false, text.data(), text.size(), ec);
  return parser.handler().take();
}

}  // namespace fairlead::wire
