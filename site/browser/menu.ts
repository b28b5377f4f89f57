/** On narrow screens the list of pages is folded. */
export function startMenu(): void {
  const button = document.querySelector<HTMLButtonElement>('[data-menu]')
  const pages = document.querySelector<HTMLElement>('#pages')
  if (!button || !pages) return
  const set = (isOpen: boolean) => {
    button.setAttribute('aria-expanded', String(isOpen))
    pages.classList.toggle('open', isOpen)
  }
  button.addEventListener('click', () => set(button.getAttribute('aria-expanded') !== 'true'))
  document.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || button.getAttribute('aria-expanded') !== 'true') return
    set(false)
    button.focus()
  })
  showCurrent(pages)
}

/**
 * On a wide screen the current page may be far down in the list. Not by `scrollIntoView`: some browsers then start the
 * first Tab there, past the link that skips the list.
 */
function showCurrent(pages: HTMLElement): void {
  const end = pages.querySelector('[aria-current]')?.getBoundingClientRect().bottom ?? 0
  const { top, height } = pages.getBoundingClientRect()
  if (end > top + height * 0.9) pages.scrollTop += end - top - height / 2
}
