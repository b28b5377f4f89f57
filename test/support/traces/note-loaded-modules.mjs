import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

// A process loads this file with `--import`. It records each module that the process loads, by any kind of import.
registerHooks({
  load(url, context, nextLoad) {
    appendFileSync(String(process.env.LOADED_MODULES_FILE), `${url}\n`)
    return nextLoad(url, context)
  },
})
