import { enableCompileCache } from 'node:module'
import { workerData } from 'node:worker_threads'

// A thread does not inherit it. Plain JavaScript for the reason of src/cli/main.js.
if (workerData.compileCache !== null) enableCompileCache(workerData.compileCache)

await import('./console-thread.ts')
