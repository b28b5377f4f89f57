import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Finding, OpenAlarm } from './alarm.ts'
import { ALARM_KIND_NAMES, ALARM_KINDS, type AlarmKind } from './alarm-kinds.ts'
import { NO_ALARM_MEMORY, settleAlarms } from './settle-alarms.ts'

const CHECK_MS = 15_000

function finding(kind: AlarmKind, given: Partial<Finding> = {}): Finding {
  return { kind, accountId: null, object: 'it', severity: 'warning', since: 0, facts: {}, raises: true, ...given }
}

/** What happens when these are found one check after the other: `+` raised, `-` cleared, `!` announced again. */
function run(checks: readonly (Finding | null)[]): { readonly at: number; readonly what: string }[] {
  let open: OpenAlarm[] = []
  let memory = NO_ALARM_MEMORY
  const moves: { at: number; what: string }[] = []
  checks.forEach((found, check) => {
    const now = 1_000_000 + check * CHECK_MS
    const settled = settleAlarms({ open, findings: found ? [found] : [], memory, now })
    memory = settled.memory
    for (const raised of settled.raise) {
      moves.push({ at: check, what: '+' })
      open.push({ ...raised, id: check, raisedAt: now, changedAt: now })
    }
    for (const { alarm, finding: after, isWorse } of settled.change) {
      if (isWorse) moves.push({ at: check, what: '!' })
      open = open.map((one) => (one === alarm ? { ...one, ...after, changedAt: now } : one))
    }
    for (const cleared of settled.clear) {
      moves.push({ at: check, what: '-' })
      open = open.filter((one) => one !== cleared)
    }
  })
  return moves
}

const movesOf = (checks: readonly (Finding | null)[]) => run(checks).map(({ at, what }) => `${at}${what}`)
const times = <Item>(count: number, item: Item) => Array.from({ length: count }, () => item)

describe('what becomes of alarms', () => {
  const offline = finding('connection_offline')

  it('raises one only when it was found for as long as its kind wants, without a break', () => {
    assert.deepEqual(movesOf([offline, offline, null, offline, offline]), [])
    assert.deepEqual(movesOf([offline, offline, offline, offline]), ['2+'])
    assert.deepEqual(movesOf([finding('lane_stalled')]), ['0+'])
  })

  it('clears one only when it was gone for as long', () => {
    assert.deepEqual(movesOf([...times(3, offline), null, null, offline, null, null, null]), ['2+', '8-'])
  })

  it('leaves things as they are between the two limits', () => {
    const between = { ...offline, raises: false }

    assert.deepEqual(movesOf(times(20, between)), [])
    assert.deepEqual(movesOf([...times(3, offline), ...times(20, between)]), ['2+'])
  })

  it('is announced again when it gets worse or comes to another stage, and never gets milder', () => {
    const critical = { ...offline, severity: 'critical' as const }
    const later = { ...critical, facts: { stage: 2 } }

    assert.deepEqual(movesOf([...times(3, offline), critical, offline, critical, later, later]), ['2+', '3!', '6!'])
  })

  it('writes other facts once in a minute', () => {
    const open = { ...offline, id: 1, raisedAt: 0, changedAt: 0 }
    const at = (now: number, facts: object) =>
      settleAlarms({ open: [open], findings: [{ ...offline, ...facts }], memory: NO_ALARM_MEMORY, now }).change.length

    assert.deepEqual([at(59_999, { facts: { a: 1 } }), at(60_000, { facts: { a: 1 } }), at(60_000, {})], [0, 1, 0])
  })

  it('does not wait for ever when the clock is set back', () => {
    const { memory } = settleAlarms({ open: [], findings: [offline], memory: NO_ALARM_MEMORY, now: 10_000_000 })
    const after = settleAlarms({ open: [], findings: [offline], memory, now: 1_000 })
    const later = settleAlarms({ open: [], findings: [offline], memory: after.memory, now: 31_000 })

    assert.equal(later.raise.length, 1)
  })

  it.each(ALARM_KIND_NAMES)('never flaps, whatever is found: %s', (kind) => {
    const { raisedAfterMs, clearedAfterMs } = ALARM_KINDS[kind]
    for (let seed = 1; seed <= 60; seed++) {
      const random = randoms(seed)
      const checks = times(400, null).map(() =>
        random() < 0.5 ? null : finding(kind, { raises: random() < 0.7, facts: { n: Math.floor(random() * 3) } }),
      )
      const moves = run(checks).filter(({ what }) => what !== '!')

      moves.forEach(({ at, what }, index) => {
        // Always in turn, and each only after as long as its kind wants of the same.
        assert.equal(what, index % 2 === 0 ? '+' : '-')
        const needed = Math.ceil((what === '+' ? raisedAfterMs : clearedAfterMs) / CHECK_MS) + 1
        const before = checks.slice(Math.max(0, at - needed + 1), at + 1)
        assert.ok(before.length === needed && before.every((found) => (what === '+' ? found?.raises : found === null)))
      })
      assert.equal(moves.length > 0 || raisedAfterMs > 30_000, true)
    }
  })
})

/** The same random numbers for the same seed, each in [0, 1). */
function randoms(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
