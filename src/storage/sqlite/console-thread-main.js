import { enableCompileCache } from 'node:module'

// A thread does not inherit it. Plain JavaScript for the reason of src/cli/main.js.
enableCompileCache()

await import('./console-thread.ts')
