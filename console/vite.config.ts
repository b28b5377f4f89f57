import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { consoleRouteTable } from './build/console-route-table.ts'
import { precompress } from './build/precompress.ts'

// The address of the service for all requests that are not files of the console, with `npm run dev`.
const SERVICE = 'http://127.0.0.1:8080'

export default defineConfig({
  base: '/console/',
  // The build does not know its public path: scripts and styles use relative addresses, and the service rewrites those of
  // the page.
  experimental: { renderBuiltUrl: (_file, { hostType }) => (hostType === 'html' ? undefined : { relative: true }) },
  // A placeholder: the server replaces it by a new nonce in every page it sends.
  html: { cspNonce: '__NONCE__' },
  plugins: [react(), consoleRouteTable(), precompress()],
  build: {
    target: 'es2023',
    // All of these know `light-dark()`. For older browsers it would be rewritten in a form that Mantine's colour schemes do not reach.
    cssTarget: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
    // All styles are loaded with the page, a few KB more: a style sheet that fails to load with a later script is never retried.
    cssCodeSplit: false,
    // The manifest lists the files of the first view, for the check of its size.
    manifest: true,
    // The licences of the bundled packages.
    license: { fileName: 'licences.md' },
    // Fonts and pictures as separate files, because the page's policy does not allow `data:`.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
  },
  server: {
    port: 5173,
    proxy: { '/console/api': SERVICE, '/chat': SERVICE },
  },
})
