import type { Readable } from 'node:stream'

/** How much may wait for the disk before the host has to. */
const BATCH_BYTES = 64 * 1024

interface HeldBack {
  hold(): void
  release(): void
}

/**
 * Yields a body in batches of the pieces it came in. While the taker is busy the next batch gathers; once that is full,
 * the host is held back. So at most two batches are in memory, however large the file.
 */
export async function* batchesOf(
  body: Readable,
  host: HeldBack,
  signal: AbortSignal,
): AsyncGenerator<readonly Buffer[]> {
  // It may have failed already, while nobody listened.
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
 * Gives the memory of a piece back at once. The collector would, too, but only after tens of megabytes: it sees a small
 * object and not the buffer behind it. Left alone where the buffer holds anything else besides this piece.
 */
export function freePiece(piece: Buffer): void {
  const { buffer, byteLength } = piece
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
