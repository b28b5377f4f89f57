/** Light or dark by choice; the system's theme until a choice is made. */
export function startThemeSwitch(): void {
  const button = document.querySelector<HTMLButtonElement>('[data-theme-switch]')
  if (!button) return
  const system = matchMedia('(prefers-color-scheme: dark)')
  const root = document.documentElement
  const isDark = () => (root.dataset['theme'] ?? (system.matches ? 'dark' : 'light')) === 'dark'
  const show = () => {
    button.textContent = isDark() ? 'Light' : 'Dark'
    button.setAttribute('aria-label', isDark() ? 'Show light pages' : 'Show dark pages')
  }
  button.addEventListener('click', () => {
    const chosen = isDark() ? 'light' : 'dark'
    root.dataset['theme'] = chosen
    try {
      localStorage.setItem('nuncio-docs-theme', chosen)
    } catch {
      // Without storage the choice only applies to this page.
    }
    show()
  })
  system.addEventListener('change', show)
  show()
}
