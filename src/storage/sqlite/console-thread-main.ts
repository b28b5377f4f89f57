import { enableCompileCache } from 'node:module'
import { workerData } from 'node:worker_threads'
import { nameTrueLines } from '../../assets/true-lines.ts'

// A thread does not inherit it.
const { compileCache } = workerData as { readonly compileCache: string | null }
if (compileCache !== null) enableCompileCache(compileCache)

nameTrueLines()
await import('./console-thread.ts')
