import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { durationText, formatDuration, parseDurationMs, tookText } from './durations.ts'

describe('a duration', () => {
  it.each([
    ['0', 0, '0s'],
    ['200ms', 200, '200ms'],
    ['90s', 90_000, '90s'],
    ['60 m', 3_600_000, '1h'],
    ['1.5h', 5_400_000, '90m'],
    ['7d', 604_800_000, '7d'],
  ])('%s is read as %d ms and written as %s', (text, ms, written) => {
    assert.deepEqual([parseDurationMs(text), formatDuration(ms)], [ms, written])
  })

  it.each(['', '5', 'soon', '-1s', '1h30m'])('is not %j', (text) => {
    assert.equal(parseDurationMs(text), null)
  })

  it.each([
    [-5, '0 ms'],
    [210, '210 ms'],
    [4_260, '4.2 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [372_000, '6 min 12 s'],
    [1_259_000, '20 min'],
    [11_400_000, '3 h 10 min'],
    [187_200_000, '2 d 4 h'],
  ])('of %d ms is for people %s', (ms, text) => {
    assert.equal(durationText(ms), text)
  })

  it.each([
    [0.6, '0.6 ms'],
    [63, '63 ms'],
    [97_547, '1 min 37 s'],
  ])('that something took of %d ms is written as %s', (ms, text) => {
    assert.equal(tookText(ms), text)
  })
})
