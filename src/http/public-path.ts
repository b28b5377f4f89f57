/** The path of `NUNCIO_PUBLIC_URL` without a slash at the end, such as `/nuncio`; empty when the service has the whole host. */
export function publicPathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '')
}

/**
 * The address of a request as the routes know it. A proxy may pass the public path on or take it away, and what runs on
 * this machine asks without it, so both mean the same.
 */
export function withoutPublicPath(url: string, publicPath: string): string {
  if (!url.startsWith(publicPath)) return url
  const rest = url.slice(publicPath.length)
  if (rest.startsWith('/')) return rest
  return rest === '' || rest.startsWith('?') ? `/${rest}` : url
}

/**
 * The page served at `path`, with addresses such as `/docs/api` made relative to it: one build then works below any public
 * path. In text a quote is written `&quot;`, so that only attributes change.
 */
export function relativeTo(path: string, html: string): string {
  return html.replaceAll('="/', `="${'../'.repeat(path.split('/').length - 2)}`)
}
