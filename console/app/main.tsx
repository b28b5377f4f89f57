import '@fontsource-variable/inter/wght.css'
import '@mantine/core/styles.css'
import '../layout/global.css'
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createQueryClient } from '../api/query-client.ts'
import { CodeMissing } from '../components/code-missing.tsx'
import { StepUpProvider } from '../components/step-up.tsx'
import { Toasts } from '../components/toasts.tsx'
import { createConsoleRouter } from './routes.tsx'
import { resolveVariables, theme } from './theme.ts'
import { allowOnlyKnownHtml } from './trusted-html.ts'

start()

function start(): void {
  allowOnlyKnownHtml()
  const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
  // The package that stops the page from scrolling behind a dialog reads the nonce of its style here.
  Object.assign(globalThis, { __webpack_nonce__: nonce })
  // Zod would test whether it may compile code from text. The page's policy forbids that, and reports each try as an attack.
  // Zod keeps the existing object once it is loaded, so it is changed and not replaced.
  const shared = globalThis as { __zod_globalConfig?: { jitless?: boolean } }
  shared.__zod_globalConfig = Object.assign(shared.__zod_globalConfig ?? {}, { jitless: true })
  const scheme = localStorageColorSchemeManager({ key: 'nuncio.colours' })
  setSchemeBeforeFirstPaint(scheme.get('auto'))

  const router = createConsoleRouter()
  const client = createQueryClient(() => {
    if (router.state.location.pathname.startsWith('/sign-in')) return
    const to = location.pathname + location.search
    // All loaded data is removed, so that the next person at this browser cannot see it.
    client.clear()
    void router.navigate({ to: '/sign-in', search: { to } as never })
  })
  const place = document.getElementById('root')
  if (!place) throw new Error('The page has no place for the console')
  createRoot(place).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={resolveVariables}
        colorSchemeManager={scheme}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce}
      >
        <QueryClientProvider client={client}>
          <StepUpProvider>
            <RouterProvider router={router} />
          </StepUpProvider>
        </QueryClientProvider>
        <Toasts />
        <CodeMissing />
      </MantineProvider>
    </StrictMode>,
  )
}

// Mantine's own script for this is inline, which the page's policy forbids.
function setSchemeBeforeFirstPaint(chosen: string): void {
  const isDark = chosen === 'dark' || (chosen === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light')
}
