#include "api/store/backup/format.h"

#include <charconv>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "api/store/transaction.h"
#include "foundation/base/check.h"

namespace fairlead::store {
namespace {

constexpr std::string_view kTitle = "fairlead backup ";
constexpr std::string_view kVersion = "1";
constexpr std::size_t kLongestLine = 200;

std::unexpected<Error> corrupt(std::string_view what) {
  return fail(Code::corrupt, fmt::format("backup: {}", what));
}

// "word 1 2 3" with exactly as many plain numbers as asked for.
bool parse_numbers(std::string_view line, std::string_view word,
                   std::span<std::uint64_t*> numbers) {
  if (!line.starts_with(word)) return false;
  line.remove_prefix(word.size());
  for (std::uint64_t* number : numbers) {
    if (!line.starts_with(' ')) return false;
    line.remove_prefix(1);
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), *number);
    if (parsed.ec != std::errc()) return false;
    line.remove_prefix(static_cast<std::size_t>(parsed.ptr - line.data()));
  }
  return line.empty();
}

}  // namespace

struct Digest::State {
  struct Free {
    void operator()(EVP_MD_CTX* freed) const { EVP_MD_CTX_free(freed); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

Digest::Digest() : state_(std::make_unique<State>()) {
  CHECK(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1);
}

Digest::Digest(Digest&&) noexcept = default;
Digest::~Digest() = default;

void Digest::add(std::string_view bytes) {
  CHECK(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}

std::string Digest::finish() {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CHECK(EVP_DigestFinal_ex(state_->context.get(), sum, &size) == 1);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", sum[i]);
  return text;
}

std::string BackupEncoder::counted(std::string text) {
  digest_.add(text);
  return text;
}

std::string BackupEncoder::begin() {
  return counted(fmt::format("{}{}\nrevision {}\n", kTitle, kVersion, revision_));
}

std::string BackupEncoder::item(const KeyValue& item) {
  ++items_;
  return counted(fmt::format("item {} {} {} {}\n{}{}\n", item.modified.number(), item.created,
                             item.key.size(), item.value.size(), item.key, item.value.view()));
}

std::string BackupEncoder::end() { return fmt::format("end {} {}\n", items_, digest_.finish()); }

// The next line without its end; nothing if it has not arrived as a whole.
Result<std::optional<std::string_view>> BackupDecoder::peek_line() const {
  const std::string_view rest = std::string_view(buffer_).substr(start_);
  const std::size_t end = rest.substr(0, kLongestLine).find('\n');
  if (end != std::string_view::npos) return rest.substr(0, end);
  if (rest.size() >= kLongestLine) return corrupt("a line is too long");
  return std::nullopt;
}

void BackupDecoder::consume(std::size_t bytes) {
  digest_.add(std::string_view(buffer_).substr(start_, bytes));
  start_ += bytes;
  // Moving the rest to the front each time would make large pieces quadratic.
  if (start_ > buffer_.size() / 2) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
}

Result<std::optional<KeyValue>> BackupDecoder::next() {
  for (;;) {
    if (expect_ == Expect::nothing) {
      if (start_ < buffer_.size()) return corrupt("bytes after the end");
      return std::nullopt;
    }
    FL_TRY(const std::optional<std::string_view> line, peek_line());
    if (!line) return std::nullopt;
    if (expect_ == Expect::item && !line->starts_with("end ")) return take_item(*line);
    if (expect_ == Expect::item) {
      FL_CHECKED(take_end(*line));
      continue;
    }
    if (expect_ == Expect::title) {
      if (!line->starts_with(kTitle)) return corrupt("this is not a fairlead backup");
      if (line->substr(kTitle.size()) != kVersion)
        return fail(Code::unsupported,
                    fmt::format("backup of version {}; this fairlead knows {}",
                                printable(line->substr(kTitle.size())), kVersion));
      expect_ = Expect::revision;
    } else {
      std::uint64_t revision = 0;
      std::uint64_t* numbers[] = {&revision};
      if (!parse_numbers(*line, "revision", numbers) ||
          revision > static_cast<std::uint64_t>(std::numeric_limits<Revision>::max() >> 12))
        return corrupt("bad revision line");
      revision_ = static_cast<Revision>(revision);
      expect_ = Expect::item;
    }
    consume(line->size() + 1);
  }
}

Result<std::optional<KeyValue>> BackupDecoder::take_item(std::string_view line) {
  ItemLine item;
  std::uint64_t* numbers[] = {&item.place, &item.created, &item.key_size, &item.value_size};
  if (!parse_numbers(line, "item", numbers)) return corrupt("bad item line");
  if (item.key_size > Transaction::kMaxBytes || item.value_size > Transaction::kMaxBytes)
    return corrupt("an item is too large");
  const std::size_t head = line.size() + 1;
  const std::size_t body = item.key_size + item.value_size;
  const std::string_view rest = std::string_view(buffer_).substr(start_ + head);
  if (rest.size() < body + 1) return std::nullopt;
  if (rest[body] != '\n') return corrupt("an item does not end where it should");
  const std::string_view key = rest.substr(0, item.key_size);
  FL_CHECKED(check_item(item, key));
  KeyValue result{.key = std::string(key),
                  .value = Bytes(std::string(rest.substr(item.key_size, item.value_size))),
                  .modified = Place::from_number(item.place),
                  .created = static_cast<Revision>(item.created)};
  ++items_;
  last_key_ = result.key;
  consume(head + body + 1);
  return result;
}

Result<> BackupDecoder::check_item(const ItemLine& item, std::string_view key) const {
  if (key <= last_key_) return corrupt("keys are out of order");
  const auto revision = static_cast<std::uint64_t>(revision_);
  const std::uint64_t modified = item.place >> 10;
  if (item.created == 0 || item.created > modified || modified > revision)
    return corrupt("an item has an impossible revision");
  return {};
}

Result<> BackupDecoder::take_end(std::string_view line) {
  const std::size_t space = line.rfind(' ');
  std::uint64_t items = 0;
  std::uint64_t* numbers[] = {&items};
  if (!parse_numbers(line.substr(0, space), "end", numbers)) return corrupt("bad end line");
  if (items != items_) return corrupt("the number of items is wrong");
  if (line.substr(space + 1) != digest_.finish()) return corrupt("the checksum is wrong");
  start_ += line.size() + 1;
  expect_ = Expect::nothing;
  return {};
}

Result<BackupSummary> BackupDecoder::finish() const {
  if (expect_ != Expect::nothing) return corrupt("the file ends too early");
  return BackupSummary{.revision = revision_, .items = items_};
}

}  // namespace fairlead::store
