import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../../core/connection/lane-policy.ts'
import { parseEvents, parseLimit, parseName, parseSources, parseState, parseStatuses } from './argument.ts'
import { changePolicy, policyText, splitSettings } from './connection-settings.ts'
import { parseExpiry } from './expiry.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const DAY = 86_400_000

describe('an expiration', () => {
  it.each([
    ['7d', NOON + 7 * DAY],
    ['30d', NOON + 30 * DAY],
    ['60d', NOON + 60 * DAY],
    ['90d', NOON + 90 * DAY],
    ['1y', NOON + 365 * DAY],
    ['2026-01-15', Date.UTC(2026, 0, 16)],
    ['2028-01-15', Date.UTC(2028, 0, 16)],
    ['2026-01-15T12:00:01Z', NOON + 1_000],
    ['2026-01-15T14:00+01:00', NOON + 3_600_000],
  ])('%s is read', (text, at) => {
    assert.equal(parseExpiry(text, NOON), at)
  })

  it.each([
    '',
    '45d',
    '7',
    'never',
    '2y',
    '0d',
    '2026-01-14',
    '2028-01-17',
    '2026-02-30',
    '2026-13-01',
    '15.01.2027',
    'constructor',
  ])('%j is refused', (text) => {
    assert.throws(() => parseExpiry(text, NOON), { code: 'expiry_invalid' })
  })
})

describe('settings of a connection', () => {
  it('are split into the lane’s and the channel’s', () => {
    assert.deepEqual(splitSettings(['least_gap=2s', 'latency=1s', 'read_after=']), {
      lane: { least_gap: '2s' },
      channel: { latency: '1s', read_after: '' },
    })
  })

  it.each([[['latency']], [['=1s']], [['Latency=1s']], [['latency=1s', 'latency=2s']]])('%j are refused', (given) => {
    assert.throws(() => splitSettings(given), { code: 'argument_invalid' })
  })

  it.each([
    [['access-token=EAABsecretOfOurs'], /^“access-token” is no setting\./],
    [['Access_Token=EAABsecretOfOurs=='], /^“Access_Token” is no setting\./],
    [['EAABsecretOfOurs'], /^One of the settings is not written as key=value\./],
    [[`EAABsecretOfOurs${'x'.repeat(40)}==`], /^One of the settings/],
    [['=EAABsecretOfOurs'], /^One of the settings/],
    [['access_token=EAABsecretOfOurs', 'access_token=EAABsecretOfOurs'], /^The setting access_token is given twice/],
  ])('never repeats what may be a secret: %j', (given, sentence) => {
    assert.throws(
      () => splitSettings(given),
      ({ message }: Error) => sentence.test(message) && !message.includes('secretOfOurs'),
    )
  })

  it.each(['access_token', 'template_video', 'least_gap'])('says that %s alone has no value', (name) => {
    assert.throws(() => splitSettings([name]), {
      code: 'argument_invalid',
      message: `${name} is given without a value. Write ${name}=VALUE.`,
    })
  })

  it('change a policy and leave the rest as it is', () => {
    const pairs = {
      on_unconfirmed: 'resend',
      time_to_live: '36h',
      least_gap: '1.5s',
      gap_jitter: '0s',
      confirm_backlog_after: '2h',
      quiet_hours: '22:00-07:00@Europe/Berlin',
    }

    assert.deepEqual(changePolicy(DEFAULT_LANE_POLICY, pairs), {
      quietHours: { from: '22:00', to: '07:00', timeZone: 'Europe/Berlin' },
      onUnconfirmed: 'resend',
      timeToLiveMs: 36 * 3_600_000,
      leastGapMs: 1_500,
      gapJitterMs: 0,
      confirmBacklogAfterMs: 2 * 3_600_000,
    })
    assert.deepEqual(changePolicy(DEFAULT_LANE_POLICY, {}), DEFAULT_LANE_POLICY)
  })

  it.each([
    ['on_unconfirmed', 'perhaps'],
    ['time_to_live', '31d'],
    ['least_gap', '2'],
    ['gap_jitter', '-1s'],
    ['quiet_hours', '22:00-07:00'],
    ['quiet_hours', '22:00-22:00@UTC'],
    ['quiet_hours', '22:00-24:00@UTC'],
    ['quiet_hours', '22:00-07:00@Mars'],
  ])('%s=%s is refused', (key, text) => {
    assert.throws(() => changePolicy(DEFAULT_LANE_POLICY, { [key]: text }), { code: 'argument_invalid' })
  })

  it('are written as they are read', () => {
    const [first, ...others] = policyText(DEFAULT_LANE_POLICY).split(', ')

    assert.equal(first, 'on_unconfirmed=leave')
    assert.deepEqual(
      changePolicy({ ...DEFAULT_LANE_POLICY, timeToLiveMs: 1 }, splitSettings(others).lane),
      DEFAULT_LANE_POLICY,
    )
    const quiet = changePolicy(DEFAULT_LANE_POLICY, { quiet_hours: '22:00-07:00@Europe/Berlin' })
    assert.deepEqual(changePolicy(DEFAULT_LANE_POLICY, splitSettings(policyText(quiet).split(', ')).lane), quiet)
  })
})

describe('arguments', () => {
  it('names are trimmed, readable and short', () => {
    assert.equal(parseName('  Büro 1 ', 'an account'), 'Büro 1')
    for (const text of ['', '   ', '\u200b', 'x'.repeat(61), 'a\nb', 'a\u202eb', 'a\u200bb', '\ud800']) {
      assert.throws(() => parseName(text, 'an account'), { code: 'argument_invalid' })
    }
  })

  it('events are all there are unless some are named', () => {
    assert.deepEqual(parseEvents(undefined), ['messaging.send_message'])
    assert.deepEqual(parseEvents(['messaging.send_message', 'messaging.send_message']), ['messaging.send_message'])
    assert.throws(() => parseEvents(['messaging.fly']), { code: 'event_unknown' })
  })

  it('sources are ranges of addresses', () => {
    assert.equal(parseSources(undefined), null)
    assert.deepEqual(parseSources(['10.0.0.0/8', '::1']), ['10.0.0.0/8', '::1/128'])
    assert.throws(() => parseSources(['office']), { code: 'argument_invalid' })
  })

  it('states may be written small', () => {
    assert.equal(parseState('failed'), 'FAILED')
    assert.throws(() => parseState('lost'), { code: 'argument_invalid' })
  })

  it('statuses are one, or all of a kind', () => {
    assert.equal(parseStatuses(undefined), null)
    assert.deepEqual(parseStatuses('401'), { from: 401, to: 401 })
    assert.deepEqual(parseStatuses('5xx'), { from: 500, to: 599 })
    assert.deepEqual(parseStatuses('4XX'), { from: 400, to: 499 })
    for (const text of ['', '4', '40', '4x', '4x1', '40x', '0xx', '600', '4xxx', 'xx4', 'constructor']) {
      assert.throws(() => parseStatuses(text), { code: 'argument_invalid' })
    }
  })

  it('limits are whole numbers from 1', () => {
    assert.equal(parseLimit('20'), 20)
    for (const text of ['0', '-1', '1.5', 'all', '1e3'])
      assert.throws(() => parseLimit(text), { code: 'argument_invalid' })
  })
})
