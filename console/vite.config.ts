import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { consoleRouteTable } from './build/console-route-table.ts'
import { precompress } from './build/precompress.ts'

// Where `npm run dev` serves what is not of the console's own files.
const SERVICE = 'http://127.0.0.1:8080'

export default defineConfig({
  base: '/console/',
  // Nothing that is built knows below which path it will be served: scripts and styles find each other by relative addresses,
  // and the service writes those of the page.
  experimental: { renderBuiltUrl: (_file, { hostType }) => (hostType === 'html' ? undefined : { relative: true }) },
  // One value for a whole build would be none: the server puts a fresh nonce in its place in every page it sends.
  html: { cspNonce: '__NONCE__' },
  plugins: [react(), consoleRouteTable(), precompress()],
  build: {
    target: 'es2023',
    // All of them know `light-dark()`. For older ones it would be rewritten into something that Mantine's schemes do not reach.
    cssTarget: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
    // All styles come with the page, a few KB more: one that comes with a later script and fails is never asked for again.
    cssCodeSplit: false,
    // The pages that show which files belong to the first view: the check of its size reads it.
    manifest: true,
    // Of the packages in it, for those who pass the build on.
    license: { fileName: 'licences.md' },
    // Fonts and pictures as files of their own: `data:` would have to be allowed in the page's policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
  },
  server: {
    port: 5173,
    proxy: { '/console/api': SERVICE, '/chat': SERVICE },
  },
})
