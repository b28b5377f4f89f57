import type { FastifyReply } from 'fastify'

const YEAR_SECONDS = 31_536_000

const EVERYWHERE: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
}

/** A page of the console may load only our own files. Scripts only from files, none inside a page. */
export function pagePolicy(styleNonce: string): string {
  return [
    `default-src 'none'`,
    `script-src 'self'`,
    // The component library writes style tags that carry the nonce of this page.
    `style-src 'self' 'nonce-${styleNonce}'`,
    `img-src 'self' data: blob:`,
    `font-src 'self'`,
    `connect-src 'self'`,
    `media-src 'self'`,
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
    `require-trusted-types-for 'script'`,
  ].join('; ')
}

/** No reply of the API is a page. */
const API_POLICY = `default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`

/** Set on every reply of the console; a handler may overwrite them. */
export function setSecurityHeaders(reply: FastifyReply, { isSecure }: { readonly isSecure: boolean }): void {
  reply.headers(EVERYWHERE)
  reply.header('content-security-policy', API_POLICY)
  reply.header('cache-control', 'no-store')
  // Over plain http both only cause a warning in the browser's console.
  if (!isSecure) return
  reply.header('strict-transport-security', `max-age=${YEAR_SECONDS}; includeSubDomains`)
  reply.header('cross-origin-opener-policy', 'same-origin')
}
