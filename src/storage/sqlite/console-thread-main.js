import { enableCompileCache } from 'node:module'
import { workerData } from 'node:worker_threads'

// A thread does not inherit it. Plain JavaScript for the reason of src/cli/main.js.
const { compileCache } = /** @type {{ readonly compileCache: string | null }} */ (workerData)
if (compileCache !== null) enableCompileCache(compileCache)

await import('./console-thread.ts')
