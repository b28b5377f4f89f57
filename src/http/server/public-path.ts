/** The path of `NUNCIO_PUBLIC_URL` without a slash at the end, such as `/nuncio`; empty when the service has the whole host. */
export function publicPathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '')
}

/**
 * The address of a request as the routes know it. A proxy may pass the public path on or take it away, and what runs on
 * this machine asks without it, so both mean the same.
 */
export function withoutPublicPath(url: string, publicPath: string): string {
  // As callers ask a proxy; RFC 9112 (3.2.2) has every server take it.
  const target = url.replace(/^https?:\/\/[^/?#]*/i, '')
  if (!target.startsWith(publicPath)) return target === '' ? '/' : target
  const rest = target.slice(publicPath.length)
  if (rest.startsWith('/')) return rest
  return rest === '' || rest.startsWith('?') ? `/${rest}` : target
}

// No page of ours lies deeper. A caller may ask for a path of thousands of parts, and each link would grow with it.
const DEEPEST = 16

/**
 * The page served at `path`, with addresses such as `/docs/api` made relative to it: one build then works below any public
 * path. In text a quote is written `&quot;`, so that only attributes change.
 */
export function relativeTo(path: string, html: string): string {
  return html.replaceAll('="/', `="${'../'.repeat(Math.min(path.split('/').length - 2, DEEPEST))}`)
}
