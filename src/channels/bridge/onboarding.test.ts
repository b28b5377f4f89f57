import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { newSecret, ScriptedAdapter } from '../../../test/support/bridge/scripted-adapter.ts'
import { Refusal } from '../../core/refusals.ts'
import { createGuardedCall } from '../../media/create-guarded-call.ts'
import { systemClock } from '../../server/system-clock.ts'
import { createOnboarding } from './onboarding.ts'
import { parseBridgeSettings } from './settings.ts'

const NUMBER = '15550009000'
const MINUTE_MS = 60_000
const TEXTS_ONLY = { types: ['message'], receipts: ['delivered'], evidence: false, maxTextLength: 160 }

describe('an adapter that is asked before its connection is added', () => {
  it('shows what it is and what it can, and with which types messages fail', async () => {
    const { adapter, prove } = await openWorld()
    adapter.describes = { senders: [NUMBER], capabilities: TEXTS_ONLY, logSince: Date.UTC(2026, 10, 1) }

    const { facts, networkKey, settings } = await prove()

    const value = Object.fromEntries(facts.map((fact) => [fact.label, fact.value]))
    assert.deepEqual(
      [value['Adapter'], value['Gateway'], value['Numbers'], value['Longest text'], value['Log since']],
      ['scripted 1.0', 'none 1.0', `+${NUMBER}`, '160 characters', '2026-11-01 00:00 UTC'],
    )
    assert.equal(value['Types'], 'text; of image, document, video, audio each message fails')
    assert.ok(facts.every(({ tone }) => tone !== 'warning'))
    assert.equal(networkKey, `${adapter.origin}#${NUMBER}`)
    assert.deepEqual(settings['capabilities'], { ...TEXTS_ONLY, maxCaptionLength: null })
  })

  it('warns of what it says otherwise than before, and takes it over', async () => {
    const { adapter, prove } = await openWorld()
    adapter.describes = { capabilities: TEXTS_ONLY }
    const { settings: before } = await prove()
    const same = await prove(before)
    adapter.describes = { capabilities: { ...TEXTS_ONLY, types: ['image', 'message'], receipts: [] } }

    const { facts, settings } = await prove(before)

    assert.ok(same.facts.every(({ label }) => label !== 'Changed'))
    assert.deepEqual(
      facts.filter(({ tone }) => tone === 'warning'),
      [
        {
          label: 'Changed',
          value: 'the types of messages were text, now text, image; the reports were delivered, now none',
          tone: 'warning',
        },
      ],
    )
    assert.deepEqual((settings['capabilities'] as { types: unknown }).types, ['message', 'image'])
  })

  it('warns of a clock that is off by more than a minute', async () => {
    const { adapter, prove } = await openWorld()
    adapter.clockOffsetMs = 2 * MINUTE_MS

    const { facts } = await prove()

    const clock = facts.find(({ label }) => label === 'Clock')
    assert.equal(clock?.tone, 'warning')
    assert.match(clock?.value ?? '', / ahead$/)
  })

  it.each<readonly [string, (adapter: ScriptedAdapter) => void, RegExp]>([
    ['another secret', (adapter) => (adapter.secret = newSecret()), /has another secret .* check the URL\.$/],
    [
      'a health without a signature',
      (adapter) => (adapter.signsHealth = false),
      /^Something else than the adapter answered/,
    ],
    [
      'a clock that is 4½ minutes behind',
      (adapter) => (adapter.clockOffsetMs = -4.5 * MINUTE_MS),
      /^The clock of the adapter is .* behind: set both clocks by the network time \(NTP\)\.$/,
    ],
    [
      'a clock that is 6 minutes ahead',
      (adapter) => (adapter.clockOffsetMs = 6 * MINUTE_MS),
      /a clock that differs by 5 minutes\./,
    ],
    [
      'another version',
      (adapter) => (adapter.describes = { versions: [2, 3] }),
      /^The adapter speaks version 2, 3 of the protocol, and Nuncio version 1\.$/,
    ],
    ['another description', (adapter) => (adapter.describes = { capabilities: null }), /not of version 1\./],
    [
      'other numbers',
      (adapter) => (adapter.describes = { senders: ['15550001111'] }),
      /^The gateway sends from \+15550001111, and this connection from \+15550009000\.$/,
    ],
    [
      'no type of message',
      (adapter) => (adapter.describes = { capabilities: { ...TEXTS_ONLY, types: ['fax'] } }),
      /^The adapter sends none of the types of messages: text, image, document, video, audio\.$/,
    ],
    [
      'a gateway that is not ready',
      (adapter) => (adapter.isReady = false),
      /^The adapter answers, but its gateway is not ready: logged out\.$/,
    ],
  ])('is refused with one sentence when it has %s', async (_, change, sentence) => {
    const { adapter, prove } = await openWorld()
    change(adapter)

    const { message } = await refusalOf(prove())

    assert.match(message, sentence)
    assert.equal(message.split('\n').length, 1)
    assert.ok(!message.includes(adapter.secret.slice(6)))
  })

  it('is refused when its address is private and not listed, and is not called', async () => {
    const { adapter, prove } = await openWorld({ origins: [] })

    const { message } = await refusalOf(prove())

    assert.match(message, /^The adapter must have an https URL .* to NUNCIO_BRIDGE_ORIGINS\.$/)
    assert.deepEqual(adapter.requests, [])
  })

  it('is refused when nothing listens there', async () => {
    const { adapter, prove } = await openWorld()
    await adapter.close()

    assert.match((await refusalOf(prove())).message, /^The adapter gave no answer: .* Start it, then try again\.$/)
  })
})

async function openWorld({ origins }: { readonly origins?: readonly string[] } = {}) {
  const secret = newSecret()
  const adapter = await ScriptedAdapter.start({ secret })
  onTestFinished(() => adapter.close().catch(() => {}))
  const guarded = createGuardedCall({ origins: origins ?? [adapter.origin] })
  const parsed = parseBridgeSettings({ url: adapter.origin, secret })
  const onboarding = createOnboarding({ guarded, clock: systemClock })
  return { adapter, prove: (settings = parsed) => onboarding.prove({ number: NUMBER, settings }) }
}

async function refusalOf(running: Promise<unknown>): Promise<Refusal> {
  const error = await running.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Refusal, String(error))
  return error
}
