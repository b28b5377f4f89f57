import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { StorageUnavailable } from '../../core/ports/lanes.ts'
import { StorageHealth } from './storage-health.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const FULL = new StorageUnavailable('the disk is full', false)

let ms: number
let health: StorageHealth

beforeEach(() => {
  ms = 0
  health = new StorageHealth({ now: () => NOON + ms, monotonic: () => ms })
})

describe('the health of storage', () => {
  it('G11: is bad from the first write that failed, and says why', () => {
    health.failed(FULL)
    ms = 1_000
    health.failed(FULL)

    assert.deepEqual(health.error, { since: NOON, cause: 'The disk is full.' })
    assert.equal(health.takeOutage(), null)
  })

  it('G11: stays bad while small rows can be written and others cannot', () => {
    health.failed(FULL)
    ms = 3_000
    health.wrote()
    const between = health.error
    ms = 3_001
    health.wrote()

    assert.notEqual(between, null)
    assert.equal(health.error, null)
  })

  it('G11: reports each past outage once, and several as one', () => {
    health.failed(FULL)
    ms = 4_000
    health.wrote()
    ms = 5_000
    health.failed(new StorageUnavailable('the disk reported an error', false))
    const during = health.takeOutage()
    ms = 9_000
    health.wrote()

    assert.equal(during, null)
    assert.deepEqual(health.takeOutage(), { since: NOON, until: NOON + 9_000, cause: 'The disk reported an error.' })
    assert.equal(health.takeOutage(), null)
  })
})
