import assert from 'node:assert/strict'
import { it, onTestFinished } from 'vitest'
import { newSqliteWorld } from '../../../test/conformance/sqlite-world.ts'
import type { AccountId, ConnectionId, MessageId } from '../../core/ids.ts'
import { Attempts } from './attempts.ts'
import { CONTACT_KIND, FIRST_CONTACT_KIND } from './first-contacts.ts'
import { createWhatsAppWeb } from './index.ts'

const CONNECTION = 'con_1' as ConnectionId
const DAY_MS = 24 * 3_600_000

it.each([
  { title: 'was taken', isTaken: true, kind: 'accepted', contacts: 1 },
  { title: 'may have been taken', isTaken: false, kind: 'nothing-ever', contacts: 0 },
])('counts a new recipient whose message $title by what evidence says', async ({ isTaken, kind, contacts }) => {
  const storage = await newSqliteWorld()
  onTestFinished(() => storage.close())
  const { clock } = storage
  const memory = storage.channelState('whatsapp-web')
  const channel = createWhatsAppWeb({
    memory,
    clock,
    sessions: storage.sessions as never,
    blocked: storage.blocked,
    folder: '/nowhere',
    rootKey: null,
    url: 'wss://web.example/ws',
    guarded: { call: () => assert.fail('it calls nothing') },
    version: null,
  })
  const open = {
    messageId: 'message-1' as MessageId,
    accountId: 'acc_1' as AccountId,
    connectionId: CONNECTION,
    to: '15551110001',
    attemptNumber: 1,
    startedAt: clock.now(),
  }
  const attempts = new Attempts(memory)
  await attempts.begin(open, clock.now(), () => true)
  if (isTaken) await attempts.keepTaken(CONNECTION, open.messageId, clock.now())
  clock.setNow(DAY_MS)

  const evidence = await channel.reconcile(open)

  const list = async (of: string) => (await memory.list(of, { connectionId: CONNECTION, after: 0, limit: 9 })).length
  assert.equal(evidence.kind, kind)
  assert.deepEqual([await list(CONTACT_KIND), await list(FIRST_CONTACT_KIND)], [contacts, 1])
})
