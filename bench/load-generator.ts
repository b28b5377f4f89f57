import { answerParent } from './child.ts'
import { type LoadJob, type LoadResult, LoadRun } from './load-run.ts'

const calls = {
  load: (job: LoadJob): Promise<LoadResult> => new LoadRun(job).run(),
}
export type LoadCalls = typeof calls

process.once('SIGTERM', () => process.exit(0))
answerParent(calls)
