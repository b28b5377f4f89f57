import { setTimeout } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { Load } from '../../support/black-box/load.ts'
import type { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import type { Random } from '../../support/black-box/random.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { cloudNumber, connectNumber } from '../../support/whatsapp-cloud/connect-number.ts'
import { startSimulator } from '../../support/whatsapp-cloud/simulator.ts'
import type { Simulator } from '../../support/whatsapp-cloud/simulator-types.ts'
import { type LoadPlan, makePictureLoad } from '../picture-load.ts'

/** Long enough that most lanes have an open attempt at any moment. */
const LATENCY_MS = 20
const KILL_WITHIN_MS = 3_000
const UPLOAD_WITHIN_MS = 20_000
const DIFFERENT_FILES = 40

export async function openNetwork(seed: number): Promise<Simulator> {
  const simulator = await startSimulator({ seed, latencyMs: LATENCY_MS })
  onTestFinished(() => simulator.close())
  return simulator
}

/** The settings of the service for this network. */
export function networkSettings(url: string): Readonly<Record<string, string>> {
  return { NUNCIO_WHATSAPP_CLOUD_URL: url, NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' }
}

/** Adds connections of numbers, and sends their reports to these services in turn. Returns the sender numbers. */
export async function connectNumbers(
  cli: Pick<NuncioCli, 'json'>,
  simulator: Simulator,
  { count, serviceUrls }: { readonly count: number; readonly serviceUrls: readonly string[] },
): Promise<string[]> {
  const numbers = Array.from({ length: count }, (_, place) => cloudNumber(place))
  for (const [place, number] of numbers.entries()) {
    const path = await connectNumber(cli, simulator, { number })
    const url = `${serviceUrls[place % serviceUrls.length]}${path}`
    simulator.deliverCallbacks({ url, phoneNumberIds: [number.phoneNumberId], ...UNRELIABLE })
  }
  return numbers.map(({ number }) => number)
}

// At least once, in any order, several in a body, and not all of them.
const UNRELIABLE = {
  delayMs: [0, 800],
  shuffle: true,
  repeat: 0.2,
  lose: 0.1,
  batch: 4,
  beforeAnswer: 0.1,
  retryMs: 200,
} as const

/**
 * Makes calls fail: one in twenty is accepted and not answered, some are lost, some are refused for now, and uploads break off or
 * take long.
 */
export function spoilCalls(simulator: Simulator, lostBefore: number): void {
  // One for certain: on a busy machine a run has few calls.
  simulator.dropAfterActing({ times: 1 })
  simulator.dropAfterActing({ rate: 0.04 })
  simulator.fault('half-answer', { rate: 0.01 })
  simulator.fault('slow', { rate: 0.02, delayMs: 700 })
  // Each of these delays its lane until no evidence can come any more. So there are only a few, and they come early.
  simulator.dropBefore({ rate: 0.2, times: lostBefore })
  simulator.fail({ code: 131016, rate: 0.02 })
  simulator.fail({ code: 130429, rate: 0.005 })
  simulator.dropBefore({ on: 'media', rate: 0.1 })
  simulator.dropAfterActing({ on: 'media', rate: 0.1 })
  simulator.fault('slow', { on: 'media', rate: 0.4, delayMs: 400 })
}

/** Waits for the time of the kill: in some rounds any time, in others while an upload is under way. */
export async function waitToKill(simulator: Simulator, round: number, random: Random): Promise<void> {
  await setTimeout(random.between(1_000, KILL_WITHIN_MS))
  if (round % 2 === 1) return
  const isUploading = async () => simulator.underWay('media') > 0
  await waitUntil('something is uploaded', isUploading, { deadlineMs: UPLOAD_WITHIN_MS, everyMs: 5 })
}

/** How often each kind of fault happened, for people. */
export function countFailure({ requests, uploads }: Simulator): Readonly<Record<string, number>> {
  const calls = requests.filter(({ kind }) => kind === 'messages')
  return {
    'cut off after acting': calls.filter(({ fault }) => fault === 'drop-after' || fault === 'half-answer').length,
    'lost before': calls.filter(({ fault }) => fault === 'drop-before').length,
    'refused by the network': calls.filter(({ code }) => code !== null).length,
    uploads: uploads.length,
  }
}

/** A load of texts, and of pictures that the service has to fetch and upload. */
export function makeLoad(plan: LoadPlan): Promise<Load> {
  return makePictureLoad(plan, { count: DIFFERENT_FILES, bytes: 200, pauseMs: 150 })
}
