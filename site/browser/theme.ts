// Runs before the page is painted, so that a dark page does not flash white.
const root = document.documentElement
root.classList.add('scripted')
try {
  const chosen = localStorage.getItem('nuncio-docs-theme')
  if (chosen === 'light' || chosen === 'dark') root.dataset['theme'] = chosen
} catch {
  // A browser without storage follows the system.
}
