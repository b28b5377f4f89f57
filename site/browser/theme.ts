// Before the page is painted, so that nobody who chose dark sees a white flash. It waits for nothing.
const root = document.documentElement
root.classList.add('scripted')
try {
  const chosen = localStorage.getItem('nuncio-docs-theme')
  if (chosen === 'light' || chosen === 'dark') root.dataset['theme'] = chosen
} catch {
  // A browser that keeps nothing follows the system.
}
