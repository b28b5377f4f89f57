import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { ReadLines } from '../../support/black-box/open-pages.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import type { QuickCli } from '../../support/black-box/quick-cli.ts'
import type { SendClient } from '../../support/black-box/send-client.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { cloudNumber, connectNumber } from '../../support/whatsapp-cloud/connect-number.ts'
import type { CallbackPlan, Simulator } from '../../support/whatsapp-cloud/simulator-types.ts'

/** Sandbox connections whose calls last until they are cut off. 20 s is the longest latency that the sandbox allows. */
export const SLOW_SANDBOX = { connections: 2, connectionArguments: ['--set', 'latency=20s'] } as const

const RECIPIENT = '447900000001'
/** The sandbox cannot say whether a call to this recipient delivered anything. */
const UNKNOWN_LOST = '15550100004'
/** Longer than a claim lasts (15 s). */
const FROZEN_MS = 18_000
const OPEN_WITHIN_MS = 15_000
const CLAIM_OVER_WITHIN_MS = 30_000
// A claim expires, and then a channel is asked for evidence for 60 s.
const ENDED_WITHIN_MS = 120_000
const IS_UNDER_WAY = new Set(['QUEUED', 'SENDING'])

// Meta reports before it answers the call, which it never does in these runs.
const READ: Partial<CallbackPlan> = { beforeAnswer: 1 }
const FAILED: Partial<CallbackPlan> = { beforeAnswer: 1, failLater: { code: 131_026 } }
const REPORTS = 4

interface Attempted {
  readonly cli: Pick<QuickCli, 'json'>
  readonly client: Pick<SendClient, 'send'>
  /** The two connections of `SLOW_SANDBOX`. */
  readonly connections: readonly string[]
  readonly simulator: Simulator
  /** The URL for Meta's reports. */
  readonly serviceUrl: string
  /** Reads the page of a message. */
  readonly readLines: ReadLines
}

interface Story {
  readonly state: string
  readonly reason: string | null
  readonly timeline: readonly { readonly kind: string; readonly facts: { readonly attempt?: number } }[]
}

/** Why the result of an attempt is unknown: its worker died, or its worker cut it off. */
type UnknownReason = 'stopped_while_sending' | 'result_unknown'

/** What the log says about a message, and what really happened to it. */
interface End {
  readonly state: string
  readonly reason: string | null
  readonly attempts: readonly string[]
  /** How often the recipient has received it. */
  readonly arrived: number
}

/**
 * One message on each of five connections. Their attempts are open and not answered:
 *
 * - `read`, `failed`: Meta has accepted it, and has already reported that it was read, or could not be delivered.
 * - `unreported`: Meta has accepted it, and reports nothing. The control for the first two.
 * - `provable`: nothing has been delivered, and the sandbox can show it.
 * - `unprovable`: nothing has been delivered, and nothing can show it.
 */
export class CutAttempts {
  readonly #parts: Attempted
  readonly #ids: Readonly<Record<string, string>>

  private constructor(parts: Attempted, ids: Readonly<Record<string, string>>) {
    this.#parts = parts
    this.#ids = ids
  }

  static async open(parts: Attempted): Promise<CutAttempts> {
    const { simulator, connections } = parts
    const [provable = '', unprovable = ''] = connections
    const letters: Readonly<Record<string, readonly [from: string, to: string]>> = {
      read: [await connect(parts, 0, READ), RECIPIENT],
      failed: [await connect(parts, 1, FAILED), RECIPIENT],
      unreported: [await connect(parts, 2, null), RECIPIENT],
      provable: [provable, RECIPIENT],
      unprovable: [unprovable, UNKNOWN_LOST],
    }
    simulator.fault('hang-after', { times: 3 })
    const ids: Record<string, string> = {}
    for (const [name, [from, to]] of Object.entries(letters)) {
      const message = { type: 'message', message: name }
      const answer = await parts.client.send({ from, to, message, idempotencyKey: name })
      assert.ok(answer.kind === 'acked')
      ids[name] = answer.messageId
    }
    const attempts = new CutAttempts(parts, ids)
    const isWhole = async () =>
      simulator.sent.some(({ text }) => text === 'unreported') &&
      simulator.callbackTries.filter(({ status }) => status === 200).length === REPORTS &&
      (await attempts.#states()).every((state) => state === 'SENDING')
    await waitUntil('all attempts are open, and the reports have come', isWhole, { deadlineMs: OPEN_WITHIN_MS })
    return attempts
  }

  /** Asserts that the log states no result while no worker handles the messages. */
  async assertNoResult(): Promise<void> {
    assert.deepEqual(new Set(await this.#states()), new Set(['SENDING']))
  }

  /**
   * Waits until the process counts as gone, and asserts what the page then says. `readLines`: reads the page of a process that
   * answers.
   */
  async assertStopIsSaid(readLines: ReadLines, [cause, nextStep]: readonly [RegExp, RegExp]): Promise<void> {
    // Until then the process counts as silent.
    const isSaid = async () => cause.test((await readLines(this.#ids['provable'] ?? ''))[1] ?? '')
    await waitUntil('the process counts as gone', isSaid, { deadlineMs: CLAIM_OVER_WITHIN_MS, everyMs: 500 })
    const [answer, , step] = await readLines(this.#ids['provable'] ?? '')
    assert.equal(answer, 'Not known yet: Nuncio stopped while it was being sent.')
    assert.match(step ?? '', nextStep)
  }

  /** Asserts what the pages of these ended messages say. */
  async assertPagesSay(lines: Readonly<Record<string, readonly [RegExp, RegExp]>>): Promise<void> {
    for (const [name, [answer, cause]] of Object.entries(lines)) {
      const [sentence, why] = await this.#parts.readLines(this.#ids[name] ?? '')
      assert.match(sentence ?? '', answer)
      assert.match(why ?? '', cause)
    }
  }

  /** Waits until all messages have ended, and compares the log with the truth. */
  async assertHonestEnds(
    title: string,
    reason: UnknownReason,
    { provable = ['rejected', 'accepted'] }: { readonly provable?: readonly string[] } = {},
  ): Promise<void> {
    const isOver = async () => (await this.#states()).every((state) => !IS_UNDER_WAY.has(state))
    await waitUntil('all of them have ended', isOver, { deadlineMs: ENDED_WITHIN_MS, everyMs: 500 })
    // A report that came before its attempt ended is applied a moment later.
    const isReported = async () => (await this.#messageWithAttempts('read')).state === 'READ'
    await waitUntil('the reports are applied', isReported, { deadlineMs: OPEN_WITHIN_MS }).catch(() => {})
    const ends = await this.#read()
    printTable(title, Object.fromEntries(Object.entries(ends).map(([name, end]) => [name, JSON.stringify(end)])))
    const expected = honestEnds(reason)
    assert.deepEqual(ends, { ...expected, provable: { ...expected['provable'], attempts: provable } })
  }

  async #read(): Promise<Readonly<Record<string, End>>> {
    const { cli, simulator } = this.#parts
    const inbox = await cli.json<readonly { text: string }[]>('sandbox', 'inbox')
    const arrived = [...inbox, ...simulator.sent].map(({ text }) => text)
    const ends: Record<string, End> = {}
    for (const name of Object.keys(this.#ids)) {
      const { state, reason, timeline } = await this.#messageWithAttempts(name)
      // A broken connection is logged when it breaks, and the result of the attempt later. The last entry counts.
      const results = timeline.filter(({ kind }) => /^attempt-(accepted|rejected|unknown)$/.test(kind))
      const last = new Map(results.map(({ kind, facts }) => [facts.attempt, kind.replace('attempt-', '')]))
      ends[name] = {
        state,
        reason,
        attempts: [...last.values()],
        arrived: arrived.filter((text) => text === name).length,
      }
    }
    return ends
  }

  #messageWithAttempts(name: string): Promise<Story> {
    return this.#parts.cli.json<Story>('message', 'explain', this.#ids[name] ?? '')
  }

  async #states(): Promise<string[]> {
    const messages = await this.#parts.cli.json<readonly { state: string }[]>('message', 'list')
    return messages.map(({ state }) => state)
  }
}

function honestEnds(reason: UnknownReason): Readonly<Record<string, End>> {
  return {
    read: { state: 'READ', reason: null, attempts: ['accepted'], arrived: 1 },
    failed: { state: 'FAILED', reason: 'whatsapp_131026', attempts: ['accepted'], arrived: 0 },
    unreported: { state: 'UNCONFIRMED', reason, attempts: ['unknown'], arrived: 1 },
    provable: { state: 'PUBLISHED', reason: null, attempts: [], arrived: 1 },
    unprovable: { state: 'UNCONFIRMED', reason, attempts: ['unknown'], arrived: 0 },
  }
}

/** Waits until every claim of a stopped process has expired. */
export function untilClaimsHaveEnded(): Promise<void> {
  return setTimeout(FROZEN_MS)
}

/** Connects a number and returns it. `reports` null: Meta sends no reports about it. */
async function connect(
  { cli, simulator, serviceUrl }: Attempted,
  place: number,
  reports: Partial<CallbackPlan> | null,
): Promise<string> {
  const number = cloudNumber(place)
  const path = await connectNumber(cli, simulator, { number })
  const { phoneNumberId } = number
  if (reports) simulator.deliverCallbacks({ url: `${serviceUrl}${path}`, phoneNumberIds: [phoneNumberId], ...reports })
  return number.number
}
