import assert from 'node:assert/strict'
import {
  Check,
  CheckCheck,
  CircleHelp,
  CirclePause,
  Clock,
  Copy,
  Hourglass,
  type LucideIcon,
  Send,
  ShieldX,
  TriangleAlert,
} from 'lucide-react'
import { describe, it } from 'vitest'
import {
  displayOf,
  displayOfLane,
  displayOfWait,
  type StateDisplay,
  type StateFacts,
} from '../../console/components/state-display.ts'
import { QUICK_FILTERS } from '../../console/features/logs/log-search.ts'
import type { ConnectionRow } from '../../src/contract/console/connections.ts'
import { isReasonCode } from '../../src/core/reasons.ts'
import { NEEDS_PERSON } from '../../src/format/waits.ts'

describe('the badge of a message', () => {
  it.each<[string, StateFacts, string, LucideIcon, string | undefined]>([
    ['QUEUED', {}, 'moving', Clock, undefined],
    ['QUEUED', { code: 'behind_others' }, 'moving', Clock, undefined],
    ['QUEUED', { code: 'retrying' }, 'moving', Hourglass, undefined],
    ['QUEUED', { code: 'paused' }, 'attend', Hourglass, undefined],
    ['QUEUED', { code: 'whatsapp_190' }, 'attend', Hourglass, undefined],
    ['QUEUED', { code: 'bridge_url_blocked' }, 'attend', Hourglass, undefined],
    ['QUEUED', { code: 'retrying', mayHaveLeft: true }, 'attend', Hourglass, undefined],
    ['SENDING', {}, 'moving', Send, undefined],
    ['SENDING', { code: 'sending' }, 'moving', Send, undefined],
    ['SENDING', { code: 'awaiting_evidence' }, 'attend', CircleHelp, undefined],
    ['PUBLISHED', {}, 'sent', Check, undefined],
    ['PUBLISHED', { code: 'reports_missing' }, 'sent', Check, 'attend'],
    ['DELIVERED', {}, 'sent', CheckCheck, undefined],
    ['DELIVERED', { code: 'possible_duplicate' }, 'sent', Copy, 'attend'],
    ['UNCONFIRMED', { code: 'result_unknown' }, 'attend', CircleHelp, undefined],
    ['REFUSED', {}, 'refused', ShieldX, undefined],
  ])('has the colour and icon of %s %j', (state, facts, ...[group, icon, iconGroup]) => {
    const shown = displayOf(state, facts)

    assert.deepEqual([shown.group, shown.icon, shown.iconGroup], [group, icon, iconGroup])
  })
})

describe('the mark of a result', () => {
  it.each(QUICK_FILTERS.flatMap(({ group, states }) => states.map((state) => [state, group] as const)))(
    'is the same in the list as in the filters and the chart above it: %s',
    (state, group) => {
      assert.equal(displayOf(state).group, group)
    },
  )
})

describe('the status of a number', () => {
  it.each([
    ['waiting', 'attend', 'moving'],
    ['problem', 'attend', 'attend'],
  ] as const)('takes what only its messages wait for as no problem: %s', (group, ofWait, shown) => {
    const wait = { code: 'connection_away', list: 'No line to Meta' } as NonNullable<ConnectionRow['wait']>

    assert.equal(displayOfWait(wait).group, ofWait)
    assert.equal(displayOfLane({ group, wait }).group, shown)
  })
})

it('has no waits without a reason', () => {
  assert.deepEqual(
    [...NEEDS_PERSON].filter((code) => !isReasonCode(code)),
    [],
  )
})

describe('the badge of a number', () => {
  const of = (code: string, list: string) => displayOfWait({ code, list })

  it.each<[string, StateDisplay, string, LucideIcon]>([
    ['Sending', displayOfWait(null), 'moving', Send],
    ['Paced', of('pace', 'Paced'), 'moving', Hourglass],
    ['Paused', of('paused', 'Paused'), 'attend', CirclePause],
    ['Needs you: Credentials rejected', of('credentials_refused', 'Credentials rejected'), 'attend', TriangleAlert],
    ['Needs you', of('credentials_refused', ''), 'attend', TriangleAlert],
    ['No line to Meta', of('connection_away', 'No line to Meta'), 'attend', Hourglass],
    ['Ready', displayOfLane({ group: 'ready', wait: null }), 'sent', Check],
  ])('says whether it needs a person: %s', (word, shown, ...[group, icon]) => {
    assert.deepEqual([shown.word, shown.group, shown.icon], [word, group, icon])
  })
})
