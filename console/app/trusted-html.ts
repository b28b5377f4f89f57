interface TrustedTypes {
  createPolicy(name: string, rules: { readonly createHTML: (html: string) => string }): unknown
}

// The marks of the highlighter; everything else in its output is escaped.
const MARKS = /<span class="hljs-[\w -]+">|<\/span>/g

/**
 * The page's policy forbids to make HTML out of text. Two kinds of text may pass: rules of style, in which no tag can
 * begin, and highlighted code. Whatever else tries to become HTML is stopped by the browser, wherever it comes from.
 */
export function allowOnlyKnownHtml(): void {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes }
  trustedTypes?.createPolicy('default', {
    createHTML: (html) => {
      if (html.replace(MARKS, '').includes('<')) throw new TypeError('This text must not become HTML')
      return html
    },
  })
}
