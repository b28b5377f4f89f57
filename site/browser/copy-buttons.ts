const SHOWN_FOR_MS = 2_000

/** A button on each block of code. */
export function addCopyButtons(): void {
  // Over plain http from another machine, browsers offer no clipboard API.
  if (!('clipboard' in navigator)) return
  for (const block of document.querySelectorAll('.code')) {
    const code = block.querySelector('code')
    if (!code) continue
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.addEventListener('click', () => void copy(code, button))
    block.append(button)
  }
}

async function copy(code: HTMLElement, button: HTMLButtonElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(code.textContent ?? '')
    button.textContent = 'Copied'
  } catch {
    button.textContent = 'Not copied: select it'
  }
  setTimeout(() => {
    button.textContent = 'Copy'
  }, SHOWN_FOR_MS)
}
