import { useEffect, useState } from 'react'
import { CallProblem } from '../api/call-problem.ts'
import { RETRY_AFTER_MS, serviceAnswers } from '../components/load-later.ts'
import { Page } from '../components/page.tsx'
import { ProblemNote } from '../components/problem-note.tsx'

const AWAY = 'The service does not answer. This page is loaded as soon as it does.'
const MISSING =
  'The service does not have all files of this page. Try again. If it happens again, inform the person who runs Nuncio.'
// A page that was reloaded this recently would most likely miss the same file again.
const LATELY_MS = 60_000

/**
 * Shown in place of a page whose code could not be loaded. Many browsers remember a failed import as long as the document
 * is open, and after an upgrade the file has another name: reloading helps in both cases.
 */
export function NotLoaded() {
  const [isMissing, setMissing] = useState(false)
  useEffect(() => {
    let isShown = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async (wasAway: boolean) => {
      const answers = await serviceAnswers()
      if (!isShown) return
      if (!answers) timer = setTimeout(() => void ask(true), RETRY_AFTER_MS)
      else if (wasAway || !wasReloadedLately()) location.reload()
      else setMissing(true)
    }
    void ask(false)
    return () => {
      isShown = false
      clearTimeout(timer)
    }
  }, [])
  const retry = async () => {
    if (await serviceAnswers()) location.reload()
  }
  const problem = new CallProblem({ status: 0, code: 'not_loaded', message: isMissing ? MISSING : AWAY })
  return (
    <Page title="This page is not loaded yet">
      <ProblemNote problem={problem} title="This page could not be loaded" onRetry={() => void retry()} />
    </Page>
  )
}

function wasReloadedLately(): boolean {
  const [document] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return document?.type === 'reload' && performance.now() < LATELY_MS
}
