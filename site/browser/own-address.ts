const WRITTEN = 'http://127.0.0.1:8080'

/** Shows the address of this service in the examples, which are written with the one of a first start. */
export function showOwnAddress(): void {
  // The search index is in /docs/assets/, and a proxy may have put /docs/ below another path.
  const index = new URL(document.body.dataset['search'] ?? '', location.href)
  const own = new URL('../..', index).href.replace(/\/$/, '')
  if (own === WRITTEN) return
  const texts = document.createTreeWalker(document.querySelector('main') ?? document.body, NodeFilter.SHOW_TEXT)
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (text.nodeValue?.includes(WRITTEN)) text.nodeValue = text.nodeValue.replaceAll(WRITTEN, own)
  }
}
