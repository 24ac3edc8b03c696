#include "api/store/etcd/seen_revision.h"

#include <charconv>
#include <utility>

#include "foundation/base/log.h"

namespace fairlead::store {
namespace {

constexpr Duration kInterval = 5s;

}  // namespace

Result<Revision> SeenRevision::read() {
  const Result<std::string> text = runtime_.files().read(path_);
  if (!text && text.error().code == Code::not_found) return Revision{0};
  if (!text) return fail(text.error());
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), kept_);
  if (error != std::errc() || std::string_view(end, text->data() + text->size()) != "\n")
    return fail(Code::corrupt, path_ +
                                   ": expected a number and a line end; delete the file only if "
                                   "etcd was not restored since the server ran last");
  return kept_;
}

Task<void> SeenRevision::keep(std::function<Revision()> seen) {
  while (co_await runtime::sleep(runtime_, kInterval)) {
    const Result<> written = co_await write(seen());
    if (!written) log::warning("revision not kept", {{"error", written.error().to_string()}});
  }
}

Task<Result<>> SeenRevision::write(Revision seen) {
  if (seen <= kept_) co_return Result<>{};
  auto work = [&files = runtime_.files(), path = path_, text = std::to_string(seen) + "\n"] {
    return files.write_atomically(path, text, 0600);
  };
  FL_CO_CHECKED(co_await runtime::blocking(runtime_, std::move(work)));
  kept_ = seen;
  co_return Result<>{};
}

}  // namespace fairlead::store
