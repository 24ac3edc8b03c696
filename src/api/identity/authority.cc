#include "api/identity/authority.h"

#include <algorithm>
#include <utility>

#include "api/identity/token.h"
#include "api/identity/user.h"
#include "foundation/base/time_text.h"

namespace fairlead::identity {
namespace {

constexpr int kSecretMode = 0600;
constexpr int kPublicMode = 0644;
constexpr int kFolderMode = 0700;

// nullopt when the file does not exist.
Result<std::optional<std::string>> read_if_there(runtime::Files& files, const std::string& path) {
  Result<std::string> text = files.read(path);
  if (text) return std::optional(std::move(*text));
  if (text.error().code == Code::not_found) return std::optional<std::string>();
  return fail(std::move(text).error());
}

Result<KeyPair> parse_pair(std::string_view certificate, std::string_view key) {
  FL_TRY(Certificate parsed, Certificate::parse_pem(certificate));
  FL_TRY(PrivateKey private_key, PrivateKey::parse_pem(key));
  if (!private_key.matches(parsed))
    return fail(Code::invalid, "certificate and key do not belong together");
  return KeyPair{std::move(parsed), std::move(private_key)};
}

template <class T>
void add_missing(std::vector<T>& list, T value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(std::move(value));
}

Names with_loopback(Names names) {
  add_missing(names.dns, std::string("localhost"));
  add_missing(names.ips, Ip::v4(0x7f000001));
  std::array<std::uint8_t, 16> loopback{};
  loopback[15] = 1;
  add_missing(names.ips, Ip::v6(loopback));
  return names;
}

template <class T>
bool includes_all(const std::vector<T>& list, const std::vector<T>& wanted) {
  return std::ranges::all_of(
      wanted, [&list](const T& one) { return std::ranges::find(list, one) != list.end(); });
}

Validity starting(WallTime now, Duration life) { return {now - kClockAllowance, now + life}; }

}  // namespace

Authority::Authority(runtime::Files& files, AuthorityOptions options, Random random)
    : files_(files), options_(std::move(options)), random_(std::move(random)) {
  options_.server_names = with_loopback(std::move(options_.server_names));
}

std::string Authority::path(std::string_view name) const {
  return options_.folder + "/" + std::string(name);
}

Result<std::unique_ptr<Authority>> Authority::open(runtime::Files& files, AuthorityOptions options,
                                                   WallTime now, Random random) {
  std::unique_ptr<Authority> authority(new Authority(files, std::move(options), std::move(random)));
  FL_CHECKED(files.make_directories(authority->options_.folder, kFolderMode));
  FL_CHECKED(authority->open_ca(now));
  FL_CHECKED(authority->open_token_key());
  FL_TRY(const bool loaded, authority->load_server());
  if (!loaded || !authority->server_fits(now)) {
    FL_CHECKED(authority->reissue_server(now));
  }
  authority->publish();
  return authority;
}

Result<> Authority::open_ca(WallTime now) {
  const std::string key_path = path("ca.key"), certificate_path = path("ca.crt");
  FL_TRY(const std::optional<std::string> key_text, read_if_there(files_, key_path));
  FL_TRY(const std::optional<std::string> certificate_text,
         read_if_there(files_, certificate_path));
  if (key_text && certificate_text) {
    Result<KeyPair> pair = parse_pair(*certificate_text, *key_text);
    if (!pair) return fail(pair.error().context(certificate_path));
    if (!pair->certificate.is_authority())
      return fail(Code::invalid, certificate_path + ": not the certificate of an authority");
    if (!pair->certificate.covers(now))
      return fail(Code::invalid, certificate_path + ": valid only from " +
                                     rfc3339(pair->certificate.validity().not_before) + " to " +
                                     rfc3339(pair->certificate.validity().not_after));
    ca_ = std::move(*pair);
    return {};
  }
  if (certificate_text)
    return fail(Code::not_found, key_path +
                                     ": the authority's key is missing; restore it, or remove " +
                                     certificate_path + " to start a new authority");
  // Key before certificate: a cut between the two is repaired by the next start, with the same key.
  PrivateKey key;
  if (key_text) {
    Result<PrivateKey> parsed = PrivateKey::parse_pem(*key_text);
    if (!parsed) return fail(parsed.error().context(key_path));
    key = std::move(*parsed);
  } else {
    FL_TRY(key, PrivateKey::generate());
    FL_TRY(const std::string text, key.pem());
    FL_CHECKED(files_.write_atomically(key_path, text, kSecretMode));
  }
  FL_TRY(ca_, make_authority(options_.cluster_name + "-ca", starting(now, kAuthorityLife),
                             std::move(key), random_));
  return files_.write_atomically(certificate_path, ca_.certificate.pem(), kPublicMode);
}

Result<> Authority::open_token_key() {
  const std::string file = path("token.key");
  FL_TRY(const std::optional<std::string> text, read_if_there(files_, file));
  if (text) {
    Result<std::string> key = parse_single_token(*text);
    if (!key) return fail(key.error().context(file));
    if (key->size() < 43) return fail(Code::invalid, file + ": too short to be safe");
    token_key_ = std::move(*key);
    return {};
  }
  token_key_ = make_token(random_);
  return files_.write_atomically(file, token_key_ + "\n", kSecretMode);
}

// False when there is no pair, or a damaged one, which can only be our own: replaced without harm.
Result<bool> Authority::load_server() {
  FL_TRY(std::optional<std::string> chain, read_if_there(files_, path("server.crt")));
  FL_TRY(std::optional<std::string> key, read_if_there(files_, path("server.key")));
  if (!chain || !key) return false;
  Result<KeyPair> pair = parse_pair(*chain, *key);
  if (!pair) return false;
  server_ = std::move(*pair);
  server_chain_ = std::move(*chain);
  server_key_ = std::move(*key);
  return true;
}

// A certificate that someone else's authority issued is the operator's and stays as it is.
bool Authority::server_fits(WallTime now) const {
  const Certificate& certificate = server_.certificate;
  const TrustStore own({ca_.certificate});
  if (!own.verify(certificate, Purpose::server, certificate.validity().not_before)) {
    const bool ours = certificate.subject().common_name == options_.cluster_name + "-server";
    return !ours;
  }
  return !needs_renewal(certificate, now) && certificate.covers(now) &&
         includes_all(certificate.names().dns, options_.server_names.dns) &&
         includes_all(certificate.names().ips, options_.server_names.ips);
}

Result<> Authority::reissue_server(WallTime now) {
  const CertificateSpec spec{
      .subject = {.common_name = options_.cluster_name + "-server", .organizations = {}},
      .names = options_.server_names,
      .purposes = {Purpose::server},
      .validity = starting(now, kServerLife)};
  FL_TRY(KeyPair pair, issue(ca_, spec, random_));
  FL_TRY(std::string key, pair.key.pem());
  FL_CHECKED(files_.write_atomically(path("server.key"), key, kSecretMode));
  FL_CHECKED(files_.write_atomically(path("server.crt"), pair.certificate.pem(), kPublicMode));
  server_chain_ = pair.certificate.pem();
  server_key_ = std::move(key);
  server_ = std::move(pair);
  return {};
}

void Authority::publish() {
  runtime::TlsCredentials credentials;
  credentials.certificate_chain = server_chain_;
  credentials.private_key = server_key_;
  credentials.trusted_ca = ca_.certificate.pem() + options_.extra_client_ca;
  credentials.alpn = {"h2", "http/1.1"};
  tls_->swap(std::move(credentials));
}

Result<Authority::Maintained> Authority::maintain(WallTime now) {
  Maintained done;
  FL_TRY(const std::optional<std::string> chain, read_if_there(files_, path("server.crt")));
  FL_TRY(const std::optional<std::string> key, read_if_there(files_, path("server.key")));
  if (chain && key && (*chain != server_chain_ || *key != server_key_)) {
    Result<KeyPair> pair = parse_pair(*chain, *key);
    if (!pair) return fail(pair.error().context("changed " + path("server.crt")));
    if (!pair->certificate.covers(now))
      return fail(Code::invalid, "changed " + path("server.crt") + ": not valid at this time");
    server_ = std::move(*pair);
    server_chain_ = *chain;
    server_key_ = *key;
    done.server_reloaded = true;
  }
  if (!server_fits(now)) {
    FL_CHECKED(reissue_server(now));
    done.server_renewed = true;
  }
  if (done.server_reloaded || done.server_renewed) publish();
  return done;
}

void Authority::set_extra_client_ca(std::string pem) {
  options_.extra_client_ca = std::move(pem);
  publish();
}

Result<Certificate> Authority::sign_node(const SigningRequest& request, const std::string& node,
                                         WallTime now) const {
  if (!is_node_name(node)) return fail(Code::invalid, "not a node name");
  return sign(ca_, request,
              {.subject = {.common_name = std::string(kNodeUserPrefix) + node,
                           .organizations = {std::string(kNodesGroup)}},
               .names = {},
               .purposes = {Purpose::client},
               .validity = starting(now, kNodeLife)},
              random_);
}

Result<std::unique_ptr<FileTls>> FileTls::open(runtime::Files& files, Paths paths,
                                               runtime::TlsCredentials base) {
  std::unique_ptr<FileTls> source(new FileTls(files, std::move(paths), std::move(base)));
  FL_TRY(const bool loaded, source->reload());
  static_cast<void>(loaded);
  return source;
}

Result<bool> FileTls::reload() {
  runtime::TlsCredentials fresh = base_;
  FL_TRY(fresh.certificate_chain, files_.read(paths_.certificate));
  FL_TRY(fresh.private_key, files_.read(paths_.key));
  if (!paths_.trusted_ca.empty()) {
    FL_TRY(fresh.trusted_ca, files_.read(paths_.trusted_ca));
    if (Result<TrustStore> trust = TrustStore::parse_pem(fresh.trusted_ca); !trust)
      return fail(trust.error().context(paths_.trusted_ca));
  }
  const std::shared_ptr<const runtime::TlsCredentials> used = tls_->current();
  if (used && used->certificate_chain == fresh.certificate_chain &&
      used->private_key == fresh.private_key && used->trusted_ca == fresh.trusted_ca)
    return false;
  if (Result<KeyPair> pair = parse_pair(fresh.certificate_chain, fresh.private_key); !pair)
    return fail(pair.error().context(paths_.certificate));
  tls_->swap(std::move(fresh));
  return true;
}

}  // namespace fairlead::identity
