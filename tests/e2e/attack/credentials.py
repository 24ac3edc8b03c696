"""Certificates and tokens that are almost right, or not at all."""

from target import LIST, want


def wrong_certificates(target):
    status, _ = target.ask("GET", LIST, token=False, certificate="good")
    want(status == 200, f"the good certificate: {status}")
    for name in ("expired", "future", "foreign", "server", "node"):
        status, answer = target.ask("GET", LIST, token=False, certificate=name)
        want(status == 401, f"certificate {name}: {status} {answer[:200]!r}")
    # A wrong certificate is not made good by asking for what anonymous users may not have either.
    status, _ = target.ask("GET", "/api/v1/secrets", token=False, certificate="foreign")
    want(status == 401, f"foreign certificate, secrets: {status}")


def wrong_tokens(target):
    good = target.token
    for token in ("wrong", good[:-1], good + "x", good.swapcase(), good[::-1], "a.b.c", "Ünicode", "x" * 10_000,
                  "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.", "abcdef.0123456789abcdef"):
        status, answer = target.ask("GET", LIST, token=token)
        want(status == 401, f"token {token[:20]}…: {status} {answer[:200]!r}")
    status, _ = target.ask("GET", LIST, token="x" * 100_000)
    want(status == 431, f"a token of 100 kB: {status}")
    status, _ = target.ask("GET", LIST, token=False, headers=["Authorization: Basic YWRtaW46YWRtaW4="])
    want(status == 401, f"basic authentication: {status}")
    status, _ = target.ask("GET", LIST, token=False, headers=[f"Authorization: Bearer {good}", "Authorization: Bearer x"])
    want(status in (400, 401), f"two tokens: {status}")


ATTACKS = [wrong_certificates, wrong_tokens]
