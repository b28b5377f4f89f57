import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId } from '../ids.ts'
import { type DueWebhook, shareOut } from './fair-scheduling.ts'

const due = (accountId: string, webhookId: string, more: Partial<DueWebhook> = {}): DueWebhook => ({
  accountId: accountId as AccountId,
  webhookId,
  isFailing: false,
  servedAt: 0,
  running: 0,
  runningOfAccount: 0,
  ...more,
})

function shared(webhooks: readonly DueWebhook[], room: number, roomForFailing = 0): Record<string, number> {
  return Object.fromEntries(
    shareOut(webhooks, { room, roomForFailing }).map(({ webhook, most }) => [webhook.webhookId, most]),
  )
}

describe('how the room for tries is shared', () => {
  it('G8: gives each account one before any gets a second', () => {
    assert.deepEqual(shared([due('a', 'a1'), due('a', 'a2'), due('b', 'b1')], 2), { a1: 1, b1: 1 })
    assert.deepEqual(shared([due('a', 'a1'), due('a', 'a2'), due('b', 'b1')], 4), { a1: 1, a2: 1, b1: 2 })
  })

  it('serves the account that has waited longest first', () => {
    assert.deepEqual(shared([due('a', 'a1', { servedAt: 9 }), due('b', 'b1', { servedAt: 3 })], 1), { b1: 1 })
  })

  it('G8: gives to the account with the fewest running tries, so that slow ones do not get all places back', () => {
    const slow = due('a', 'a1', { servedAt: 1, running: 3, runningOfAccount: 7 })
    const quick = due('b', 'b1', { servedAt: 9 })

    assert.deepEqual(shared([slow, quick], 1), { b1: 1 })
    assert.deepEqual(shared([slow, quick], 5), { b1: 4, a1: 1 })
  })

  it('gives no webhook more than four and no account more than eight at once, those that run included', () => {
    assert.deepEqual(shared([due('a', 'a1', { running: 3, runningOfAccount: 3 })], 32), { a1: 1 })
    const many = ['1', '2', '3', '4'].map((name) => due('a', name))
    assert.equal(
      Object.values(shared(many, 32)).reduce((sum, most) => sum + most, 0),
      8,
    )
  })

  it('lets those that fail have one each, and a room of their own together', () => {
    const failing = Array.from({ length: 20 }, (_, at) => due(`f${at}`, `f${at}`, { isFailing: true }))

    const shares = shared([...failing, due('a', 'a1', { servedAt: 99 })], 10, 5)

    assert.equal(Object.keys(shares).filter((name) => name.startsWith('f')).length, 5)
    assert.equal(shares['a1'], 4)
    assert.ok(Object.entries(shares).every(([name, most]) => name === 'a1' || most === 1))
  })

  it('comes to an end when no account may have more', () => {
    assert.deepEqual(shared([], 5), {})
    assert.deepEqual(shared([due('a', 'a1', { running: 4, runningOfAccount: 4 })], 5), {})
  })
})
