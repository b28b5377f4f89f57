import { createHash } from 'node:crypto'
import type { MediaFile } from '../core/message/message.ts'
import type { MediaWanted } from '../core/ports/media.ts'
import { bytesText } from '../format/bytes.ts'
import { batchesOf, freePiece } from './body-batches.ts'
import { checkHead, checkWhole } from './check-content.ts'
import { checkHeaders } from './check-headers.ts'
import type { FetchTiming } from './fetch-timing.ts'
import { MediaProblem } from './media-problem.ts'
import type { OpenResponse } from './open-response.ts'
import { HEAD_BYTES } from './sniff-type.ts'
import { SpeedFloor } from './speed-floor.ts'
import type { Spool, SpoolFile } from './spool.ts'
import { tooBig } from './too-big.ts'

export interface ReceiveRules {
  readonly spool: Spool
  readonly capBytes: number
  readonly timing: FetchTiming
}

// Headers, and the framing of chunks of normal size, fit in this. A chunk with one byte of content takes six bytes on the
// wire, and as much work as a full one.
const MOST_OVERHEAD_BYTES = 1024 * 1024
const MOST_OVERHEAD_FACTOR = 2

/**
 * Streams the body of a response into the spool, and counts and hashes it meanwhile. It reads only as fast as the disk
 * writes, so memory use does not depend on the size of the file. After an error no file stays behind.
 */
export async function receiveFile(
  { response, wanted }: { readonly response: OpenResponse; readonly wanted: MediaWanted },
  rules: ReceiveRules,
  ending: AbortController,
): Promise<MediaFile> {
  const problem = checkHeaders(response, { type: wanted.type, capBytes: rules.capBytes })
  if (problem) throw problem
  const file = await rules.spool.create(wanted.spoolName)
  try {
    const received = await pour(response, { file, wanted, rules }, ending)
    ending.signal.throwIfAborted()
    const path = await file.keep()
    // Aborted while the disk was busy: the caller no longer waits for this file and would never discard it.
    ending.signal.throwIfAborted()
    return { path, ...received }
  } catch (error) {
    await file.abandon()
    throw error
  }
}

interface Pouring {
  readonly file: SpoolFile
  readonly wanted: MediaWanted
  readonly rules: ReceiveRules
}

async function pour(
  response: OpenResponse,
  { file, wanted, rules }: Pouring,
  ending: AbortController,
): Promise<Omit<MediaFile, 'path'>> {
  const hash = createHash('sha256')
  const progress = { bytes: 0, isWaitingForHost: true }
  const stopWatching = watchSpeed(progress, rules.timing, ending)
  let head: Buffer = Buffer.alloc(0)
  let mime: string | null = null
  try {
    for await (const batch of arriving(response, ending.signal)) {
      progress.isWaitingForHost = false
      for (const piece of batch) {
        progress.bytes += piece.length
        hash.update(piece)
      }
      if (progress.bytes > rules.capBytes) {
        const { capBytes } = rules
        throw tooBig({ type: wanted.type, sizeBytes: progress.bytes, capBytes, isAtLeast: true })
      }
      refuseCrumbs(response.connection.receivedBytes, progress.bytes)
      // Checked as early as possible, so that a wrong file is not downloaded to its end.
      if (head.length < HEAD_BYTES) {
        head = Buffer.concat([head, ...batch]).subarray(0, HEAD_BYTES)
        if (head.length === HEAD_BYTES) mime = checkHead(wanted.type, head)
      }
      await file.write(batch)
      batch.forEach(freePiece)
      progress.isWaitingForHost = true
    }
  } finally {
    stopWatching()
  }
  if (progress.bytes === 0) throw new MediaProblem('media_truncated', `${response.host} sent an empty file (0 bytes).`)
  const read = (position: number, length: number) => file.read(position, length)
  mime ??= await checkWhole(wanted.type, { head, sizeBytes: progress.bytes, read })
  return { sizeBytes: progress.bytes, sha256: hash.digest('hex'), mime }
}

async function* arriving(response: OpenResponse, signal: AbortSignal): AsyncGenerator<readonly Buffer[]> {
  try {
    yield* batchesOf(response.body, response.connection, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw response.explain(error)
  }
}

function watchSpeed(
  progress: { readonly bytes: number; readonly isWaitingForHost: boolean },
  timing: FetchTiming,
  ending: AbortController,
): () => void {
  const floor = new SpeedFloor(
    { bytesPerSecond: timing.slowBytesPerSecond, afterMs: timing.slowAfterMs, windowMs: timing.slowWindowMs },
    performance.now(),
  )
  const timer = setInterval(() => {
    const nowMs = performance.now()
    if (!progress.isWaitingForHost) return floor.restart(nowMs, progress.bytes)
    const bytesPerSecond = floor.findCrawl(nowMs, progress.bytes)
    if (bytesPerSecond !== null) ending.abort(tooSlow(bytesPerSecond, progress.bytes, timing))
  }, timing.slowWindowMs / 10)
  return () => clearInterval(timer)
}

/** Ends a transfer that is mostly framing, such as a chunk for every byte, or comments between the chunks. */
function refuseCrumbs(receivedBytes: number, contentBytes: number): void {
  if (receivedBytes <= MOST_OVERHEAD_BYTES + MOST_OVERHEAD_FACTOR * contentBytes) return
  throw new MediaProblem(
    'media_protocol',
    `The media host sent ${receivedBytes} bytes to carry ${contentBytes} bytes of content.`,
  )
}

function tooSlow(bytesPerSecond: number, bytes: number, timing: FetchTiming): MediaProblem {
  const least = bytesText(timing.slowBytesPerSecond)
  const words = `The media host sent ${bytesText(bytesPerSecond)} a second after ${bytesText(bytes)}; at least ${least} a second are needed.`
  return new MediaProblem('media_timeout', words)
}
