import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects garbage now. `minor`: only the young generation. */
type CollectGarbage = (how?: { readonly type: 'minor' }) => void

/** Works without starting Node with `--expose-gc`. */
export function garbageCollector(): CollectGarbage {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as CollectGarbage
}
