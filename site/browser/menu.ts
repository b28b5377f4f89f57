/** On narrow screens the list of pages is folded away. */
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
  // On a wide screen the page one reads may stand far down in the list.
  pages.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
}
