import { createReadStream } from 'node:fs'
import { MediaProblem } from './media-problem.ts'
import type { OpenResponse } from './open-response.ts'

/** One of our own sample files, as if its host had answered. Nothing is connected to. */
export function openSample(path: string): OpenResponse {
  const body = createReadStream(path)
  // It may fail before the caller listens, and an unhandled error would end the process.
  body.on('error', () => {})
  return {
    host: 'Nuncio',
    status: 200,
    header: () => null,
    body,
    connection: { hold: () => {}, release: () => {}, receivedBytes: 0 },
    explain: () => new MediaProblem('media_connect', 'The sample file is missing in this installation of Nuncio.'),
    close: () => void body.destroy(),
  }
}
