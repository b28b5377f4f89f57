import type { Readable } from 'node:stream'

/** How much may wait for the disk before the host is held back. */
const BATCH_BYTES = 64 * 1024

interface HeldBack {
  hold(): void
  release(): void
}

/**
 * Yields a body in batches of its chunks. While the consumer is busy the next batch fills; once that is full, the host is
 * held back. So at most two batches are in memory, however large the file.
 */
export async function* batchesOf(
  body: Readable,
  host: HeldBack,
  signal: AbortSignal,
): AsyncGenerator<readonly Buffer[]> {
  // The body may have failed before these listeners were added.
  const state = { batch: [] as Buffer[], bytes: 0, hasEnded: false, error: body.errored, wake: () => {} }
  body.on('data', (chunk: Buffer) => {
    state.batch.push(chunk)
    state.bytes += chunk.length
    if (state.bytes >= BATCH_BYTES) host.hold()
    state.wake()
  })
  body.on('end', () => {
    state.hasEnded = true
    state.wake()
  })
  body.on('error', (error) => {
    state.error = error
    state.wake()
  })
  body.on('close', () => {
    if (!state.hasEnded) state.error ??= new Error('The body was closed before its end')
    state.wake()
  })
  signal.addEventListener('abort', () => state.wake(), { once: true })
  host.release()
  for (;;) {
    signal.throwIfAborted()
    if (state.error) throw state.error
    if (state.batch.length > 0) {
      const { batch } = state
      state.batch = []
      state.bytes = 0
      host.release()
      yield batch
    } else if (state.hasEnded) {
      return
    } else {
      await new Promise<void>((resolve) => {
        state.wake = resolve
      })
    }
  }
}

/**
 * Frees the memory of a chunk at once. The garbage collector would do so only after tens of megabytes, because it sees a
 * small object and not the buffer behind it. Does nothing when the buffer holds anything besides this chunk.
 */
export function freePiece(piece: Buffer): void {
  const { buffer, byteLength } = piece
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
