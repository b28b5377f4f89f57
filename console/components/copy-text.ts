/** Puts text on the clipboard, on plain http too, where browsers offer no clipboard to pages. */
export async function copyText(text: string): Promise<boolean> {
  // Absent outside https and localhost, whatever the types say.
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
  // Inside an open dialog, because it gives the focus to nothing outside of it.
  const place = hadFocus?.closest('[role="dialog"]') ?? document.body
  place.append(area)
  area.select()
  try {
    // The only way there is on plain http.
    // oxlint-disable-next-line typescript/no-deprecated
    return document.execCommand('copy')
  } finally {
    area.remove()
    if (hadFocus instanceof HTMLElement) hadFocus.focus()
  }
}
