import { type ReactNode, Suspense, useState } from 'react'
import { lazily } from './load-later.ts'
import { ProveContext, type ProveIdentity } from './prove-identity.ts'

const StepUpDialog = lazily(async () => (await import('./step-up-dialog.tsx')).StepUpDialog)

/** Asks the person to confirm their identity before a sensitive action. */
export function StepUpProvider({ children }: { readonly children: ReactNode }) {
  const [answer, setAnswer] = useState<((proven: boolean) => void) | null>(null)
  const prove: ProveIdentity = () =>
    new Promise((resolve) => {
      setAnswer(() => (proven: boolean) => {
        setAnswer(null)
        resolve(proven)
      })
    })
  return (
    <ProveContext value={prove}>
      {children}
      {answer ? (
        <Suspense>
          <StepUpDialog onAnswer={answer} />
        </Suspense>
      ) : null}
    </ProveContext>
  )
}
