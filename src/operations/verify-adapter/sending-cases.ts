import { type AdapterHealth, parseEvidence } from '../../channels/bridge/protocol.ts'
import type { AdapterCase } from './adapter-case.ts'
import { type AdapterUnderTest, type Attempted, inWords } from './adapter-under-test.ts'
import type { GatewayProxy } from './gateway-proxy.ts'
import { putFile, sha256Of } from './request-cases.ts'
import { SAMPLES } from './samples.ts'

interface Sending {
  readonly health: AdapterHealth
  readonly to: string
  readonly restart: (() => Promise<void>) | null
  /** Counts what goes to the gateway; null: that is not known. */
  readonly proxy: GatewayProxy | null
}

const AT_ONCE = 20

/** Each sends at most one message. */
export function sendingCases(
  adapter: AdapterUnderTest,
  { health, to, restart, proxy }: Sending,
): readonly AdapterCase[] {
  const { types, maxTextLength } = health.capabilities
  const fields = adapter.fieldsOf({ to })
  const attemptId = String(fields['attemptId'])
  let first: Attempted | null = null
  const isSame = async () => {
    const again = await adapter.attempt(fields)
    return JSON.stringify(again) === JSON.stringify(first)
      ? null
      : `${inWords(again)} The answer before was another one.`
  }
  return [
    {
      title: `takes one attempt that comes ${AT_ONCE} times at once, and gives each the same answer`,
      async run() {
        if (proxy) proxy.calls = 0
        const all = await Promise.all(Array.from({ length: AT_ONCE }, () => adapter.attempt(fields)))
        first = all[0] ?? null
        const other = all.find((one) => JSON.stringify(one) !== JSON.stringify(first))
        if (other && first) return `Two answers are: ${inWords(first)} ${inWords(other)}`
        return first && isAccepted(first) ? null : first && inWords(first)
      },
    },
    ...(proxy
      ? [
          {
            title: 'calls its gateway once for all of them',
            run: async () => (proxy.calls === 1 ? null : `It called it ${proxy.calls} times.`),
          },
        ]
      : []),
    { title: 'gives it again when the attempt is repeated', run: isSame },
    {
      title: 'does not take another body under the id of this attempt',
      async run() {
        const other = await adapter.attempt({ ...fields, content: { type: 'message', text: 'This must not arrive.' } })
        return isAccepted(other) ? inWords(other) : null
      },
    },
    {
      title: 'gives evidence that it was accepted',
      async run() {
        const answer = await adapter.evidence(attemptId, Date.now())
        if ('problem' in answer) return answer.problem
        const state = parseEvidence(answer.value, attemptId)?.state
        return state === 'accepted' ? null : `It answered ${state ?? 'with no evidence of version 1'}.`
      },
    },
    ...(restart
      ? [
          {
            title: 'gives the same answer after a restart',
            async run() {
              await restart()
              return isSame()
            },
          },
        ]
      : []),
    ...(maxTextLength === null ? [] : [tooLong(adapter, to, maxTextLength)]),
    ...SAMPLES.filter(({ type }) => types.includes(type)).map((sample) => withFile(adapter, to, sample)),
  ]
}

function isAccepted(attempted: Attempted): boolean {
  return 'outcome' in attempted && attempted.outcome.result === 'accepted'
}

function tooLong(adapter: AdapterUnderTest, to: string, maxTextLength: number): AdapterCase {
  return {
    title: `rejects a text of more than ${maxTextLength} characters`,
    async run() {
      const content = { type: 'message', text: 'x'.repeat(maxTextLength + 1) }
      const attempted = await adapter.attempt(adapter.fieldsOf({ to, content }))
      return 'outcome' in attempted && attempted.outcome.result === 'rejected' ? null : inWords(attempted)
    },
  }
}

function withFile(
  adapter: AdapterUnderTest,
  to: string,
  { type, name, mime, file }: (typeof SAMPLES)[number],
): AdapterCase {
  return {
    title: `sends a file as ${type}`,
    async run() {
      const sha256 = sha256Of(file)
      const put = await putFile(adapter, sha256, file)
      if (put !== true) return put === false ? 'It did not take the file.' : put
      const media = { sha256, sizeBytes: file.length, mime }
      const attempted = await adapter.attempt(adapter.fieldsOf({ to, content: { type, caption: null, name, media } }))
      return isAccepted(attempted) ? null : inWords(attempted)
    },
  }
}
