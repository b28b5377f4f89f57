import type { ErrorComponentProps } from '@tanstack/react-router'
import { Page } from '../components/page.tsx'
import { ProblemNote } from '../components/problem-note.tsx'

/** Shown in place of a page that threw an error. The error is in the browser's developer tools. */
export function FailedPage({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="This page failed">
      <ProblemNote
        problem={error instanceof Error ? error : new Error(String(error))}
        title="This page could not be shown"
        onRetry={reset}
      />
    </Page>
  )
}
