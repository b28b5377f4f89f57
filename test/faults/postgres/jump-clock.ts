import type { NuncioProcess } from '../../support/black-box/nuncio-process.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import type { MovableClock } from '../../support/postgres/faketime.ts'

/** Sets the clock of a worker, and waits until the worker uses the new time. */
export async function jumpClock(clock: MovableClock, worker: NuncioProcess, offsetMs: number): Promise<void> {
  clock.moveTo(offsetMs)
  const hasJumped = async () => Math.abs((await clockOf(worker)) - Date.now() - offsetMs) < 60_000
  await waitUntil('the clock of the worker has jumped', hasJumped, { deadlineMs: 20_000 })
}

/** The worker's time, as its responses show it. */
async function clockOf({ url }: NuncioProcess): Promise<number> {
  const response = await fetch(`${url}/health/live`)
  await response.arrayBuffer()
  return Date.parse(response.headers.get('date') ?? '')
}
