import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from './connection/lane-policy.ts'
import { findAttention } from './find-attention.ts'
import type { AccountId, ConnectionId } from './ids.ts'
import type { AlarmView } from './ports/console/alarms.ts'
import type { AttentionView, WaitingLane } from './ports/console/overview.ts'
import type { WebhookView } from './ports/webhooks.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const ACME = 'acc_1' as AccountId
const WARNING: AlarmView = {
  id: 1,
  kind: 'reports_missing',
  severity: 'warning',
  of: 'connection',
  object: 'con_1',
  name: '15550001000',
  account: 'Acme',
  since: NOON,
  raisedAt: NOON,
  clearedAt: null,
  cause: 'No report came.',
  command: null,
  nextStep: 'Check the callback address.',
}
const FAILED = { state: 'FAILED', reason: 'recipient_refused', count: 3, latestAt: NOON } as const
const KEY = 'messages FAILED recipient_refused'
const LANE: WaitingLane = {
  connectionId: 'con_2' as ConnectionId,
  number: '15550001001',
  name: null,
  channel: 'whatsapp-cloud',
  policy: DEFAULT_LANE_POLICY,
  state: 'active',
  waiting: 2,
  isMore: false,
  oldestAt: NOON,
  reason: 'credentials_refused',
  words: null,
  until: null,
}

async function find(open: readonly AlarmView[], view: Partial<AttentionView> = {}, hooks: readonly unknown[] = []) {
  const attention = { from: NOON - 1, groups: [], lanes: [], seen: new Map(), ...view }
  const sources = {
    alarms: { readOpen: async () => open },
    overview: { readAttention: async () => attention },
    webhooks: { listWebhooks: async () => hooks as readonly WebhookView[] },
  }
  return findAttention(sources, {
    accountIds: [ACME],
    alarmsOf: { accountId: ACME, seesInstallation: false },
    now: NOON,
  })
}

async function keys(...of: Parameters<typeof find>) {
  return (await find(...of)).map(({ key, seen }) => `${key}${seen ? ', seen' : ''}`)
}

describe('what needs attention', () => {
  it('is alarms that wait for a person, numbers, messages that were not sent, and disabled webhooks', async () => {
    const info: AlarmView = { ...WARNING, severity: 'info', kind: 'token_expiring', object: 'tok_1' }
    const hooks = [
      { id: 'wh_1', url: 'https://a.example', state: 'failing', stateReason: 'It failed for 3 days.', createdAt: NOON },
      { id: 'wh_2', state: 'on' },
    ]

    const items = await find([WARNING, info], { groups: [FAILED], lanes: [LANE] }, hooks)

    assert.deepEqual(
      items.map(({ key, title, nextStepByCommand }) => [key, title, nextStepByCommand]),
      [
        ['alarm reports_missing con_1', 'No report came.', 'Check the callback address.'],
        [
          'number con_2 credentials_refused',
          '15550001001: Meta rejects the credentials of 15550001001. 2 messages wait.',
          'Enter valid credentials in the settings of the connection, then resume it. → nuncio connection resume 15550001001',
        ],
        [
          KEY,
          '3 messages failed: Number rejected',
          'Check the number, and send a new message to the right one. → nuncio message list --state FAILED',
        ],
        [
          'webhook wh_1',
          'The webhook to https://a.example was disabled. It failed for 3 days.',
          'Repair the receiver, then enable the webhook. The console does that.',
        ],
      ],
    )
  })

  it('is a webhook that has failed for 15 minutes, with the reason of its last failure', async () => {
    const webhook = { id: 'wh_1', url: 'https://a.example', state: 'enabled', isFailing: true, createdAt: NOON - 1e9 }
    const failing = (forMs: number, changed: object = {}) => ({
      ...webhook,
      failingSince: NOON - forMs,
      lastFailure: { code: 'refused_status', status: 500 },
      ...changed,
    })

    const [item] = await find([], {}, [failing(900_000)])

    assert.deepEqual(
      [item?.title, item?.nextStep, item?.latestAt, item?.maySee],
      [
        'Every try of the webhook to https://a.example fails. The receiver answered 500, not 200 to 299.',
        'Search the receiver’s log for the webhook-id. It must answer 2xx once it has stored the notice.',
        NOON - 900_000,
        true,
      ],
    )
    assert.deepEqual(await keys([], {}, [failing(899_999)]), [])
    assert.deepEqual(await keys([], {}, [failing(900_000, { isFailing: false })]), [])
    assert.deepEqual(await keys([], {}, [failing(900_000, { state: 'disabled' })]), [])
    assert.deepEqual(await keys([], {}, [failing(900_000, { lastFailure: null })]), ['webhook wh_1'])
  })

  it.each([
    ['FAILED', 1, '1 message failed: Number rejected'],
    ['FAILED', 1_200, '1,200 messages failed: Number rejected'],
    ['EXPIRED', 2, '2 messages expired: Number rejected'],
  ] as const)('says of messages in state %s how many: %i', async (state, count, title) => {
    const [item] = await find([], { groups: [{ ...FAILED, state, count }] })

    assert.equal(item?.title, title)
  })

  it('names a number once: by its alarm where there is one', async () => {
    assert.deepEqual(await keys([{ ...WARNING, object: 'con_2' }], { lanes: [LANE] }), ['alarm reports_missing con_2'])
  })

  it('is hidden once it was seen, until there is something newer', async () => {
    const seen = (until: number) => new Map([[KEY, { until, by: 'anna', at: NOON }]])

    assert.deepEqual(await keys([WARNING], { groups: [FAILED], seen: seen(NOON) }), [
      'alarm reports_missing con_1',
      `${KEY}, seen`,
    ])
    assert.deepEqual(await keys([], { groups: [FAILED], seen: seen(NOON - 1) }), [KEY])
  })

  it('stays while it is critical, or until a person has decided', async () => {
    const seen = new Map(
      ['alarm reports_missing con_1', 'alarm unconfirmed con_1'].map((key) => [
        key,
        { until: NOON, by: 'anna', at: NOON },
      ]),
    )
    const open: AlarmView[] = [
      { ...WARNING, severity: 'critical' },
      { ...WARNING, kind: 'unconfirmed' },
    ]

    assert.deepEqual(await keys(open, { seen }), ['alarm reports_missing con_1', 'alarm unconfirmed con_1'])
  })

  it('is seen in the account of its messages alone', async () => {
    const [seen, other] = ['acc_1', 'acc_2'] as AccountId[]
    const views = new Map([[seen, new Map([[KEY, { until: NOON, by: 'Ada' }]])]])
    const sources = {
      alarms: { readOpen: async () => [] },
      overview: {
        readAttention: async (id: AccountId) =>
          ({
            from: NOON - 1,
            groups: [FAILED],
            lanes: [],
            seen: views.get(id) ?? new Map(),
          }) as unknown as AttentionView,
      },
      webhooks: { listWebhooks: async () => [] },
    }

    const items = await findAttention(sources, {
      accountIds: [other!, seen!],
      alarmsOf: { accountId: null, seesInstallation: true },
      now: NOON,
    })

    assert.deepEqual(
      items.map(({ accountId, seen: by }) => [accountId, by !== null]),
      [
        [other, false],
        [seen, true],
      ],
    )
  })
})
