import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

// Given to a process by `--import`: writes down each module that it loads, from whatever kind of import.
registerHooks({
  load(url, context, nextLoad) {
    appendFileSync(String(process.env.LOADED_MODULES_FILE), `${url}\n`)
    return nextLoad(url, context)
  },
})
