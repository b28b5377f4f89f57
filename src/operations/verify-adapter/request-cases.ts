import { createHash, randomUUID } from 'node:crypto'
import {
  type AdapterHealth,
  MOST_ATTEMPT_BYTES,
  parseEvidence,
  parseMediaAnswer,
} from '../../channels/bridge/protocol.ts'
import { CLOCK_TOLERANCE_SECONDS } from '../../channels/bridge/signing.ts'
import type { AdapterCase } from './adapter-case.ts'
import { type AdapterUnderTest, type Asked, type AttemptFields, inWords, quoted } from './adapter-under-test.ts'

interface Known {
  readonly health: AdapterHealth
  readonly restart: (() => Promise<void>) | null
}

const TOLERANCE_MS = CLOCK_TOLERANCE_SECONDS * 1_000

/** Requests for which a correct adapter sends nothing. */
export function requestCases(adapter: AdapterUnderTest, known: Known): readonly AdapterCase[] {
  const { types } = known.health.capabilities
  return [
    ...signatureCases(adapter),
    ...refusedAttempts(adapter),
    ...evidenceCases(adapter, known),
    ...(types.some((type) => type !== 'message') ? mediaCases(adapter) : []),
  ]
}

function signatureCases(adapter: AdapterUnderTest): readonly AdapterCase[] {
  const attempt = late(adapter)
  const post = attemptAsked(attempt)
  const attemptId = String(attempt['attemptId'])
  const evidence = `/v1/attempts/${attemptId}?startedAt=${Date.now()}`
  const requests: readonly (readonly [title: string, asked: Asked])[] = [
    ['a request that is signed with another secret', { ...health(), isForged: true }],
    ['an attempt that is signed with another secret', { ...post, isForged: true }],
    ['an attempt that was changed after it was signed', { ...post, signed: `${post.body} ` }],
    ['a request from a clock that is 6 minutes behind', { ...health(), aheadSeconds: -360 }],
    ['a request from a clock that is 6 minutes ahead', { ...health(), aheadSeconds: 360 }],
    [
      'a question about one attempt with the webhook-id of another',
      { method: 'GET', path: evidence, id: `evi_${randomUUID()}_1_${randomUUID()}` },
    ],
    ['a question about an attempt with the webhook-id of GET /health', { ...health(), path: evidence }],
    ['an attempt with the webhook-id of another', { ...post, id: `att_${randomUUID()}_1` }],
    ['an attempt with the webhook-id of receipts', { ...post, id: `rcp_${randomUUID()}` }],
  ]
  return requests.map(([title, asked]) => ({ title: `refuses ${title}`, run: () => refuses(adapter, asked) }))
}

function health(): Asked {
  return { method: 'GET', path: '/health', id: `hea_${randomUUID()}` }
}

/** Its time is over, so even an adapter that checks little else should not send it. */
function late(adapter: AdapterUnderTest, special: AttemptFields = {}): AttemptFields {
  return adapter.fieldsOf({ notAfter: Date.now() - 60_000, ...special })
}

function attemptAsked(fields: AttemptFields) {
  const body = JSON.stringify(fields)
  return { method: 'POST', path: '/v1/attempts', id: `att_${String(fields['attemptId'])}`, body } as const
}

async function refuses(adapter: AdapterUnderTest, asked: Asked): Promise<string | null> {
  const answer = await adapter.ask(asked)
  if (!answer) return 'It gave no answer.'
  return answer.status >= 400 && answer.status < 500 ? null : `It answered ${answer.status}.`
}

function refusedAttempts(adapter: AdapterUnderTest): readonly AdapterCase[] {
  const bad: readonly (readonly [title: string, special: AttemptFields])[] = [
    ['a type that it does not know', { content: { type: 'hologram', text: 'A test.' } }],
    ['a recipient with a plus sign', { to: '+15550100000' }],
    ['a recipient that would be two', { to: '15550100000 15550100001' }],
    ['more than 512 KiB', { content: { type: 'message', text: 'x'.repeat(MOST_ATTEMPT_BYTES + 1_024) } }],
  ]
  return [
    {
      title: 'rejects an attempt after its notAfter as too_late, also with members that it does not know',
      run: () => isRejected(adapter, late(adapter, { more: { of: ['another', 'version'] } }), 'too_late'),
    },
    ...bad.map(([title, special]) => ({
      title: `refuses an attempt with ${title}`,
      async run() {
        const attempted = await adapter.attempt(adapter.fieldsOf(special))
        if ('outcome' in attempted) return attempted.outcome.result === 'rejected' ? null : inWords(attempted)
        const { status } = attempted
        // It may break the connection rather than read what is too long.
        const isOk = status === null ? title.startsWith('more') : status >= 400 && status < 500
        return isOk ? null : attempted.problem
      },
    })),
  ]
}

async function isRejected(adapter: AdapterUnderTest, fields: AttemptFields, code: string): Promise<string | null> {
  const attempted = await adapter.attempt(fields)
  const isIt = 'outcome' in attempted && attempted.outcome.result === 'rejected' && attempted.outcome.code === code
  return isIt ? null : inWords(attempted)
}

function evidenceCases(adapter: AdapterUnderTest, { health: { logSince }, restart }: Known): readonly AdapterCase[] {
  const closed = adapter.fieldsOf()
  const attemptId = String(closed['attemptId'])
  const askState = async (id: string, startedAt: number, state: string) => {
    const answer = await adapter.evidence(id, startedAt)
    if ('problem' in answer) return answer.problem
    const evidence = parseEvidence(answer.value, id)
    if (!evidence) return `It answered with no evidence of version 1: ${quoted(answer.value)}`
    return evidence.state === state ? null : `It answered ${evidence.state}.`
  }
  const closedCase = (title: string) => ({ title, run: () => isRejected(adapter, closed, 'attempt_closed') })
  return [
    {
      title: 'says forgotten of an attempt from before its log',
      run: () => askState(`${randomUUID()}_1`, Math.max(0, logSince - TOLERANCE_MS), 'forgotten'),
    },
    {
      title: 'says not_received of an attempt that never came',
      run: () => askState(attemptId, Math.max(Date.now(), logSince + TOLERANCE_MS + 1_000), 'not_received'),
    },
    closedCase('rejects this attempt as attempt_closed when it comes after all'),
    ...(restart
      ? [
          {
            title: 'still rejects it after a restart',
            async run() {
              await restart()
              return isRejected(adapter, closed, 'attempt_closed')
            },
          },
        ]
      : []),
  ]
}

function mediaCases(adapter: AdapterUnderTest): readonly AdapterCase[] {
  const [file, other] = [`file ${randomUUID()}`, `file ${randomUUID()}`]
  return [
    {
      title: 'does not take a file that has another checksum',
      run: async () => {
        const sha256 = sha256Of(other)
        await putFile(adapter, sha256, file)
        const state = await fileState(adapter, sha256)
        return state === true ? 'It says that it has the file.' : typeof state === 'string' ? state : null
      },
    },
    {
      title: 'takes a file, and has it afterwards',
      run: async () => {
        const put = await putFile(adapter, sha256Of(file), file)
        if (put !== true) return put === false ? 'It answered that it does not have it.' : put
        const state = await fileState(adapter, sha256Of(file))
        return state === true ? null : state === false ? 'It does not have it.' : state
      },
    },
  ]
}

export function sha256Of(file: string | Uint8Array): string {
  return createHash('sha256').update(file).digest('hex')
}

/** Whether the adapter has it then, or why it does not say so. */
export function putFile(
  adapter: AdapterUnderTest,
  sha256: string,
  file: string | Uint8Array,
): Promise<boolean | string> {
  const signed = `${sha256}.${Buffer.byteLength(file)}`
  return mediaState(
    adapter,
    { method: 'PUT', path: `/v1/media/${sha256}`, id: mediaId(sha256), body: file, signed },
    sha256,
  )
}

function fileState(adapter: AdapterUnderTest, sha256: string): Promise<boolean | string> {
  return mediaState(adapter, { method: 'GET', path: `/v1/media/${sha256}`, id: mediaId(sha256) }, sha256)
}

async function mediaState(adapter: AdapterUnderTest, asked: Asked, sha256: string): Promise<boolean | string> {
  const answer = await adapter.signed(asked)
  if ('problem' in answer) return answer.problem
  return (
    parseMediaAnswer(answer.value, sha256)?.isReady ??
    `It answered otherwise than in version 1: ${quoted(answer.value)}`
  )
}

function mediaId(sha256: string): string {
  return `med_${sha256}_${randomUUID()}`
}
