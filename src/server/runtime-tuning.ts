import { executionAsyncResource } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type Collect = (how: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void

let kept: object | null = null

/**
 * Has V8 make all objects in the young generation of its heap. By itself V8 notes which code makes objects that live for a while,
 * such as lists of requests that wait for the disk, and from then on makes them in the old generation. There they stay until the
 * next full collection, though they were needed for milliseconds only, and keep everything that they refer to: each batch of
 * acceptances, and with it whole requests. Copying them took a tenth of Node's time, and full collections came every two
 * seconds. To be called before much has run; for the whole process, with its threads.
 */
export function keepGarbageYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/**
 * Keeps one of the objects in which Node notes what `process.nextTick` is to call. V8 knows their shape only as long as there
 * is one of them: a full collection at a moment without any makes it forget, and from then on, for good, Node's `nextTick`
 * makes each of them by three calls of V8's runtime (seen with Node 24.21). A request takes six of them, so accepting a
 * message cost 2.5 of 33 µs more. Returns the object.
 */
export async function keepTicksFast(): Promise<object> {
  kept ??= await new Promise<object>((resolve) => process.nextTick(() => resolve(executionAsyncResource())))
  return kept
}

/**
 * Gives the memory that only the start needed back to the system: some 30 MB of empty heap, which V8 would keep for as long as
 * there is little to do. To be called once, when the start is over: it blocks the process for 30 to 70 ms.
 */
export function giveBackMemory(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  // Without the flavour V8 keeps the emptied pages for later.
  collect({ type: 'major', flavor: 'last-resort' })
}
