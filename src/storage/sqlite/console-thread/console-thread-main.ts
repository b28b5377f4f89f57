import { enableCompileCache } from 'node:module'
import { workerData } from 'node:worker_threads'
import { nameSourceLines } from '../../../assets/source-lines.ts'
import { setCommandPrefix } from '../../../core/command-line.ts'

// A thread does not inherit them.
const { compileCache, commandPrefix } = workerData as {
  readonly compileCache: string | null
  readonly commandPrefix: string
}
if (compileCache !== null) enableCompileCache(compileCache)
setCommandPrefix(commandPrefix)

nameSourceLines()
await import('./console-thread.ts')
