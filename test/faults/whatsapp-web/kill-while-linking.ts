import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { AdministrationSession } from '../../../src/server/wiring/open-administration.ts'
import type { Random } from '../../support/black-box/random.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import type { World } from '../../support/black-box/world.ts'
import type { Simulator } from '../../support/whatsapp-web/simulator.ts'
import { WatchedRequest } from '../../support/whatsapp-web/watched-request.ts'
import { addConnection, linkPhones } from './web-run.ts'

const SETTLED = { deadlineMs: 60_000, everyMs: 50 }

/** The stages at which the service is killed. */
export const KILLED_AT = ['shown', 'confirmed', 'signed', 'logged in'] as const
type KilledAt = (typeof KILLED_AT)[number]

// A service takes about this long from one of these stages to the next.
const KILLED_WITHIN_MS = 40

interface LinkingRun {
  readonly simulator: Simulator
  readonly world: World
  readonly session: AdministrationSession
  readonly random: Random
}

interface Linked {
  readonly number: string
  /** Whether it was linked to another device before. */
  readonly isAgain: boolean
  readonly killedAt: KilledAt
}

/**
 * Links a phone by a QR code to a service that is killed meanwhile. Afterwards the number must be linked and send, or be unlinked
 * and linkable. A phone with a device that cannot log in, or a session without its device, would be neither. Returns how the link
 * ended.
 */
export async function linkThroughKill(run: LinkingRun, { number, isAgain, killedAt }: Linked): Promise<string> {
  const { simulator, world, random } = run
  await addConnection(world, number)
  if (isAgain) await linkPhones(simulator, world, [number])
  await send(run, number, 'waits')
  if (isAgain) await arrives(run, number, 'waits')
  const request = await requestQr(run, number)
  const shown = await request.code()
  const killed = killAt(run, killedAt, random.between(0, KILLED_WITHIN_MS))
  if (killedAt !== 'shown') simulator.pairing.scan(number, shown)
  await killed
  await world.service.start()

  // If the service had not yet stored what the phone has confirmed, the code must be scanned once more.
  const next = await request.codeOrEnd(shown)
  if (killedAt === 'shown') assert.ok(next !== null, 'no other code was shown')
  assert.throws(() => simulator.pairing.scan(number, shown), /no device shows this code any more/)
  if (next !== null) simulator.pairing.scan(number, next)
  const [end = ''] = await request.end()
  // A number that was linked before may still be linked.
  if (end !== 'done' && !isAgain) await linkAnew(run, number)

  await send(run, number, 'afterwards')
  for (const text of ['waits', 'afterwards']) await arrives(run, number, text)
  const { devices } = simulator.phone(number)
  await waitUntil('the phone lists one device', async () => devices.size === 1, SETTLED)
  return next === null ? end : `${end}, with another code`
}

async function linkAnew(run: LinkingRun, number: string): Promise<void> {
  const request = await requestQr(run, number)
  run.simulator.pairing.scan(number, await request.code())
  assert.deepEqual(await request.end(), ['done', undefined])
}

function recipientOf(number: string): string {
  return `4479${number.slice(-8)}`
}

async function requestQr({ session }: LinkingRun, number: string): Promise<WatchedRequest> {
  const { id, accountId } = await session.administration.findConnection(number, null)
  const of = { accountId, id }
  const view = await session.deviceSessions.request(of, 'qr', 'test')
  const secrets = await session.openSecrets()
  return new WatchedRequest(session.deviceSessions, { of, id: view.id, secrets, notify: () => {} })
}

async function killAt({ simulator, world }: LinkingRun, at: KilledAt, afterMs: number): Promise<void> {
  const reached = Promise.withResolvers<void>()
  if (at === 'shown') reached.resolve()
  if (at === 'confirmed') simulator.pairing.onAccept = reached.resolve
  if (at === 'signed') simulator.pairing.onFinish = () => reached.resolve()
  if (at === 'logged in') simulator.onLogin = reached.resolve
  await reached.promise
  await setTimeout(afterMs)
  await world.service.killNine()
  simulator.pairing.onAccept = () => {}
  simulator.pairing.onFinish = () => {}
  simulator.onLogin = () => {}
}

async function send({ world }: LinkingRun, from: string, text: string): Promise<void> {
  const message = { type: 'message', message: text }
  const answer = await world.client.send({ from, to: recipientOf(from), message, idempotencyKey: null })
  assert.equal(answer.kind, 'acked')
}

/** Asserts that the text arrives once and readable. */
async function arrives({ simulator }: LinkingRun, from: string, text: string): Promise<void> {
  const phone = simulator.phone(recipientOf(from))
  const count = () => phone.texts.filter((each) => each === text).length
  await waitUntil(`${text} arrives`, async () => count() > 0, SETTLED)
  assert.deepEqual([count(), phone.unreadable], [1, []])
}
