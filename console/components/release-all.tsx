import { Suspense } from 'react'
import { lazily } from './load-later.ts'

// A hold is rare, and the pages that may show it are loaded often.
const ReleaseAllDialog = lazily(async () => (await import('./release-all-dialog.tsx')).ReleaseAllDialog)

export function ReleaseAll() {
  return (
    <Suspense>
      <ReleaseAllDialog />
    </Suspense>
  )
}
