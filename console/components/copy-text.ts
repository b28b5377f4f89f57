/** Copies text to the clipboard, also over plain http, where pages have no clipboard API. */
export async function copyText(text: string): Promise<boolean> {
  // Undefined outside https and localhost, although the types say otherwise.
  const clipboard = navigator.clipboard as Clipboard | undefined
  if (clipboard) {
    const done = await clipboard.writeText(text).then(
      () => true,
      () => false,
    )
    if (done) return true
  }
  return copyBySelection(text)
}

function copyBySelection(text: string): boolean {
  const hadFocus = document.activeElement
  const area = document.createElement('textarea')
  area.value = text
  area.readOnly = true
  area.style.position = 'fixed'
  area.style.opacity = '0'
  // Inside an open dialog, because the dialog keeps the focus inside itself.
  const place = hadFocus?.closest('[role="dialog"]') ?? document.body
  place.append(area)
  area.select()
  try {
    // The only method over plain http.
    // oxlint-disable-next-line typescript/no-deprecated
    return document.execCommand('copy')
  } finally {
    area.remove()
    if (hadFocus instanceof HTMLElement) hadFocus.focus()
  }
}
