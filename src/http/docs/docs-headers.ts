const YEAR_SECONDS = 31_536_000

/** What a page of the documents may load: our own files, and the endpoint for its test call. */
const POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self'`,
  `font-src 'self'`,
  `connect-src 'self'`,
  `form-action 'none'`,
  `base-uri 'none'`,
  `frame-ancestors 'none'`,
  `require-trusted-types-for 'script'`,
].join('; ')

/** On everything under `/docs/`. */
export function docsHeaders({ isSecure }: { readonly isSecure: boolean }): Readonly<Record<string, string>> {
  return {
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'x-frame-options': 'DENY',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    // Over plain http both only cause a warning in the browser's console.
    ...(isSecure && {
      'strict-transport-security': `max-age=${YEAR_SECONDS}; includeSubDomains`,
      'cross-origin-opener-policy': 'same-origin',
    }),
  }
}
