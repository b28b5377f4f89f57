import { executionAsyncResource } from 'node:async_hooks'

let kept: object | null = null

/**
 * Keeps one of the objects in which Node notes what `process.nextTick` is to call. V8 knows their shape only as long as there
 * is one of them: a full collection at a moment without any makes it forget, and from then on, for good, Node's `nextTick`
 * makes each of them by three calls of V8's runtime (seen with Node 24.21). A request takes six of them, so accepting a
 * message cost 2.5 of 33 µs more. Returns what is kept.
 */
export async function keepTicksFast(): Promise<object> {
  kept ??= await new Promise<object>((resolve) => process.nextTick(() => resolve(executionAsyncResource())))
  return kept
}
