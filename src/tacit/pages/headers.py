"""Headers that every answer carries: all of them what a browser shows, some what programs read."""

POLICY = {
    "default-src": "'none'",
    "style-src": "'self'",
    "script-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "content-security-policy": "; ".join(f"{name} {sources}" for name, sources in POLICY.items()),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
    "strict-transport-security": "max-age=31536000",
}
DATA_HEADERS = {
    name: HEADERS[name] for name in ("x-content-type-options", "cache-control", "strict-transport-security")
} | {"content-security-policy": "default-src 'none'; frame-ancestors 'none'"}
