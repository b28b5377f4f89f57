/** The path of `NUNCIO_PUBLIC_URL` without a slash at the end, such as `/nuncio`; empty when the service has the whole host. */
export function publicPathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '')
}

/**
 * The address of a request without the public path. A proxy may keep the public path or strip it, and programs on this
 * machine leave it out, so both forms mean the same.
 */
export function withoutPublicPath(url: string, publicPath: string): string {
  // The absolute form, as sent to proxies; RFC 9112 (3.2.2) requires every server to accept it.
  const target = url.replace(/^https?:\/\/[^/?#]*/i, '')
  if (!target.startsWith(publicPath)) return target === '' ? '/' : target
  const rest = target.slice(publicPath.length)
  if (rest.startsWith('/')) return rest
  return rest === '' || rest.startsWith('?') ? `/${rest}` : target
}

// No page is deeper. A caller may ask for a path of thousands of parts, and each link would grow with it.
const DEEPEST = 16

/**
 * Makes addresses such as `/docs/api` in the page at `path` relative, so that one build works below any public path. In
 * text a quote is written `&quot;`, so only attributes change.
 */
export function relativeTo(path: string, html: string): string {
  return html.replaceAll('="/', `="${'../'.repeat(Math.min(path.split('/').length - 2, DEEPEST))}`)
}
