import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects garbage now: all of it, or with `minor` only what is young. */
type CollectGarbage = (how?: { readonly type: 'minor' }) => void

/** Node need not have been started for it. */
export function garbageCollector(): CollectGarbage {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as CollectGarbage
}
