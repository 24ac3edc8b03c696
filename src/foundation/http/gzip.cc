#include "foundation/http/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "foundation/http/message.h"

namespace fairlead::http {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: largest window, gzip framing
constexpr std::size_t kStep = 64 << 10;

Bytef* bytes_of(const char* text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text));  // zlib reads only
}

}  // namespace

class Gzip::Deflater {
 public:
  explicit Deflater(int level)
      : ready_(deflateInit2(&stream_, level, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) ==
               Z_OK) {}
  ~Deflater() {
    if (ready_) deflateEnd(&stream_);
  }
  bool ready() const { return ready_; }

  // zlib counts input in 32 bits; one piece is far below that, but a caller's may not be.
  bool feed(std::string_view input, int flush, std::string& out) {
    do {
      const std::size_t taken = std::min<std::size_t>(input.size(), 1 << 30);
      stream_.next_in = bytes_of(input.data());
      stream_.avail_in = static_cast<uInt>(taken);
      input.remove_prefix(taken);
      if (!drain(input.empty() ? flush : Z_NO_FLUSH, out)) return false;
    } while (!input.empty());
    return true;
  }

 private:
  bool drain(int flush, std::string& out) {
    for (;;) {
      const std::size_t before = out.size();
      if (out.capacity() - before < kStep / 4) out.reserve(std::max(out.capacity() * 2, kStep));
      out.resize(out.capacity());
      stream_.next_out = bytes_of(out.data() + before);
      const std::size_t room = std::min<std::size_t>(out.size() - before, 1 << 30);
      stream_.avail_out = static_cast<uInt>(room);
      const int outcome = deflate(&stream_, flush);
      out.resize(before + room - stream_.avail_out);
      if (outcome == Z_STREAM_END) return true;
      if (outcome != Z_OK && outcome != Z_BUF_ERROR) return false;
      if (stream_.avail_out > 0) return true;
    }
  }

  z_stream stream_{};
  bool ready_;
};

Gzip::Gzip(int level) : deflater_(std::make_unique<Deflater>(std::clamp(level, 1, 9))) {}
Gzip::~Gzip() = default;
Gzip::Gzip(Gzip&&) noexcept = default;
Gzip& Gzip::operator=(Gzip&&) noexcept = default;

Result<> Gzip::add(std::string_view input, std::string& out) {
  if (!deflater_->ready()) return fail(Code::exhausted, "gzip: no memory");
  if (!input.empty() && !deflater_->feed(input, Z_NO_FLUSH, out))
    return fail(Code::internal, "gzip: deflate failed");
  return {};
}

Result<> Gzip::finish(std::string& out) {
  if (!deflater_->ready()) return fail(Code::exhausted, "gzip: no memory");
  if (!deflater_->feed({}, Z_FINISH, out)) return fail(Code::internal, "gzip: deflate failed");
  return {};
}

Result<std::string> gzip(std::span<const Bytes> pieces, int level) {
  Gzip packer(level);
  std::string out;
  for (const Bytes& piece : pieces) {
    FL_CHECKED(packer.add(piece.view(), out));
  }
  FL_CHECKED(packer.finish(out));
  return out;
}

struct Gunzip::State {
  z_stream stream{};
  bool ready = false;
  bool member_open = false;
  bool any = false;
  std::size_t left;

  explicit State(std::size_t limit) : left(limit) {
    ready = inflateInit2(&stream, kGzipWindow) == Z_OK;
  }
  ~State() {
    if (ready) inflateEnd(&stream);
  }
};

Gunzip::Gunzip(std::size_t output_limit) : state_(std::make_unique<State>(output_limit)) {}
Gunzip::~Gunzip() = default;
Gunzip::Gunzip(Gunzip&&) noexcept = default;
Gunzip& Gunzip::operator=(Gunzip&&) noexcept = default;

Result<std::string> Gunzip::inflate(std::string_view input) {
  State& state = *state_;
  if (!state.ready) return fail(Code::exhausted, "gunzip: no memory");
  std::string out;
  state.stream.next_in = bytes_of(input.data());
  state.stream.avail_in = static_cast<uInt>(input.size());
  bool output_full = false;
  while (state.stream.avail_in > 0 || output_full) {
    if (!state.member_open && state.any && inflateReset(&state.stream) != Z_OK)
      return fail(Code::internal, "gunzip: reset failed");
    state.member_open = state.any = true;
    const std::size_t before = out.size();
    out.resize(before + kStep);
    state.stream.next_out = bytes_of(out.data() + before);
    state.stream.avail_out = kStep;
    const int outcome = ::inflate(&state.stream, Z_NO_FLUSH);
    const std::size_t made = kStep - state.stream.avail_out;
    output_full = state.stream.avail_out == 0;
    out.resize(before + made);
    if (made > state.left) return fail(Code::exhausted, "gunzip: output too large");
    state.left -= made;
    if (outcome == Z_STREAM_END) {
      state.member_open = output_full = false;
    } else if (outcome == Z_BUF_ERROR) {
      break;  // needs more input
    } else if (outcome != Z_OK) {
      return fail(Code::corrupt, "gunzip: not gzip");
    }
  }
  return out;
}

bool Gunzip::complete() const { return state_->any && !state_->member_open; }

bool accepts_gzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    const std::size_t comma = accept_encoding.find(',');
    std::string_view item = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(comma == std::string_view::npos ? accept_encoding.size()
                                                                  : comma + 1);
    std::string_view parameters;
    if (const std::size_t semicolon = item.find(';'); semicolon != std::string_view::npos) {
      parameters = item.substr(semicolon + 1);
      item = item.substr(0, semicolon);
    }
    const auto trimmed = [](std::string_view text) {
      while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
      while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
      return text;
    };
    item = trimmed(item);
    if (!equals_ignoring_case(item, "gzip") && item != "*") continue;
    parameters = trimmed(parameters);
    const bool zero = (parameters.starts_with("q=0") || parameters.starts_with("Q=0")) &&
                      parameters.find_first_of("123456789", 2) == std::string_view::npos;
    return !zero;
  }
  return false;
}

}  // namespace fairlead::http
