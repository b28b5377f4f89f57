import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { z } from 'zod'
import { type ConsoleRoute, ROLES, type Role } from '../../src/contract/console/route.ts'
import { CONSOLE_ROUTES, type ConsoleRouteName } from '../../src/contract/console/routes.ts'
import type { AccountId, ConnectionId } from '../../src/core/ids.ts'
import { ENGINES } from '../support/administration-world/open-administration-world.ts'
import { ConsoleWorld, type Visitor } from '../support/console-world/console-world.ts'
import { columns, numberIn, PLANTED, plantMarks, textIn } from '../support/console-world/plant-marks.ts'
import { textColumns } from '../support/console-world/text-columns.ts'

/** Columns without content of messages: ids, codes, states, times, and names that people of the account chose. */
const OF_MESSAGES: Readonly<Record<string, readonly string[]>> = {
  message: 'id account_id connection_id token_id request_id type state reason remote_address user_agent'.split(' '),
  request: 'account_id token_id request_id code message_id remote_address user_agent message_state'.split(' '),
  idempotency: ['account_id', 'fingerprint'],
  attempt: ['outcome', 'code', 'facts'],
  open_attempt: ['connection_id', 'account_id'],
  timeline: ['kind', 'code'],
  media: 'account_id connection_id type state code path mime fetcher spool'.split(' '),
  lane: ['connection_id', 'account_id', 'owner', 'failure_streak', 'wait_reason'],
  channel_memory: ['kind', 'connection_id', 'key'],
  channel_session_key: ['connection_id', 'kind', 'id'],
  blocked_recipient: ['account_id', 'blocked_by'],
  notice: ['id', 'account_id', 'kind', 'key'],
  delivery: 'account_id webhook_id kind state claim last_code'.split(' '),
  delivery_try: ['account_id', 'webhook_id', 'code'],
}
const NOT_OF_MESSAGES = new Set(
  `account account_retention alarm applied_functions audit block_list channel_session checkpoint connection fence hold key_ring known_device known_server
   lane_change lane_entry leftover_file membership migration notice_want passkey person person_link recovery_code session_request session_status
   retention_kept retention_mark retention_state rights session sign_in_throttle sign_in_ticket standstill tally
   tally_reason token totp watch webhook worker`.split(/\s+/),
)
const SENDER = '15550001000'
/** A part of each value, as a person who sees only that part would search for. */
const SOUGHT = [
  ...(['message.recipient', 'message.words', 'request.body', 'request.errors'] as const).map(numberIn),
  `${numberIn('message.recipient').slice(0, 9)}*`,
  `${numberIn('request.body').slice(0, 9)}*`,
  'Dear Anna',
]

let world: ConsoleWorld
let account: AccountId
let connectionId: ConnectionId
let viewer: Visitor
let developer: Visitor
let ids: readonly string[]

const ROUTES = Object.entries(CONSOLE_ROUTES).map(([name, route]) => ({
  name: name as ConsoleRouteName,
  route: route as ConsoleRoute,
}))
const reachableBy = (role: Role) =>
  ROUTES.filter(({ route }) => {
    const least = ROLES.indexOf(route.access as Role)
    return route.method === 'GET' && least <= ROLES.indexOf(role)
  })

it('lets viewers reach no route that changes something, so that reading them all reaches every reply', () => {
  const changing = ROUTES.filter(({ route }) => route.access === 'viewer' && route.method !== 'GET')

  assert.deepEqual(
    changing.map(({ name }) => name),
    [],
  )
})

describe.each(ENGINES)('a viewer, on %s', (engine) => {
  beforeEach(async () => {
    world = new ConsoleWorld()
    const close = await world.openConsole(engine)
    account = await world.account()
    connectionId = await world.connection(account)
    viewer = await world.visitor(account, 'viewer')
    developer = await world.visitor(account, 'developer')
    ids = await plantMarks(world, account, connectionId)
    return close
  })

  it('has a mark in every column that can hold content of a message', async () => {
    const unknown = (await textColumns(world)).filter(([, column, known]) => {
      const isKnown = `${known}.${column}` in PLANTED || OF_MESSAGES[known]?.includes(column)
      return !isKnown && !NOT_OF_MESSAGES.has(known)
    })

    assert.deepEqual(unknown, [])
  })

  it('reads no recipient and no text of a message in any reply, stream or file', async () => {
    const shown = await readAll('viewer')

    const found = columns.flatMap((column) =>
      shown
        .filter(({ text }) => text.includes(numberIn(column)) || text.includes(textIn(column)))
        .filter(({ text }) => PLANTED[column] !== 'numbers' || text.includes(numberIn(column)))
        .map(({ asked }) => `${column} in ${asked}`),
    )
    assert.deepEqual(found, [])
    const answered = new Set(shown.filter(({ status }) => status === 200).map(({ name }) => name))
    const unanswered = reachableBy('viewer').filter(({ name }) => !answered.has(name))
    assert.deepEqual(
      unanswered.map(({ name }) => name),
      [],
    )
  })

  it('does not see what a developer sees, so that the scan above covers the marked texts', async () => {
    const shown = (await readAll('developer')).map(({ text }) => text).join('\n')

    const unseen = columns.filter((column) => !shown.includes(numberIn(column)))
    assert.deepEqual(
      unseen,
      columns.filter((column) => PLANTED[column] === 'never'),
    )
  })

  it('finds nothing by masked values: a search for a stored value is answered like one for another value', async () => {
    const faults: string[] = []
    for (const { name, route } of reachableBy('viewer')) {
      for (const [key, schema] of Object.entries(shapeOf(route.query))) {
        if (!isText(schema)) continue
        for (const sought of SOUGHT) {
          const decoy = sought.replace(/\d/g, (digit) => String((Number(digit) + 3) % 10)).replace('Anna', 'Emil')
          const ask = (value: string) => read({ name, params: { account }, query: { [key]: value } }, viewer)
          const [real, other] = [await ask(sought), await ask(decoy)]
          if (real !== other) faults.push(`${name}?${key}=${sought}: ${real} but ${other}`)
        }
      }
    }

    assert.deepEqual(faults, [])
  })

  it('cannot search recipients, and gets no curl command and no actions', async () => {
    const [entry] = (await world.call('listLog', { as: viewer, params: { account }, query: {} })).items
    const byRecipient = await world.ask('listLog', { as: viewer, params: { account }, query: { to: '4917*' } })
    const detail = await world.call('showLogEntry', { as: viewer, params: { account, id: entry?.id ?? '' } })

    assert.equal(byRecipient.status, 403)
    assert.match(byRecipient.text, /Viewers do not see recipients, so they cannot search by them\./)
    assert.deepEqual([detail.isMasked, detail.request?.curl ?? null, detail.message?.actions ?? []], [true, null, []])
    const own = await world.call('listLog', { as: viewer, params: { account }, query: { connection: SENDER } })
    assert.ok(own.items.length > 0, 'a viewer finds what a sender of the account sent')
  })
})

interface Asked {
  readonly name: ConsoleRouteName
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

interface Shown {
  readonly name: ConsoleRouteName
  readonly asked: string
  readonly status: number
  readonly text: string
}

/** Every route that this role may read, with every object in its path and every choice of its query. */
async function readAll(role: Role): Promise<Shown[]> {
  const visitor = role === 'viewer' ? viewer : developer
  const shown: Shown[] = []
  for (const { name, route } of reachableBy(role)) {
    for (const asked of variantsOf(name, route)) {
      const response = await world.fetch(name, { ...asked, as: visitor })
      const text = await beginningOf(response)
      const { params, query } = asked
      shown.push({
        name,
        asked: `${name} ${JSON.stringify({ params, query })}`,
        status: response.status,
        text,
      })
    }
  }
  return shown
}

function variantsOf(name: ConsoleRouteName, { path, query }: ConsoleRoute): Asked[] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, key = '']) => key).filter((key) => key !== 'account')
  let paths: Readonly<Record<string, string>>[] = [{ account }]
  for (const key of names) paths = paths.flatMap((params) => ids.map((id) => ({ ...params, [key]: id })))
  const choices = Object.entries(shapeOf(query)).flatMap(([key, schema]) =>
    optionsOf(schema).map((option) => ({ [key]: option })),
  )
  return [
    ...paths.map((params) => ({ name, params, query: {} })),
    ...choices.map((choice) => ({ name, params: paths[0] ?? {}, query: choice })),
  ]
}

/** Without the parts that differ between requests. */
async function read({ name, params, query }: Asked, visitor: Visitor): Promise<string> {
  const response = await world.fetch(name, { params: { ...params, id: ids[0] ?? '' }, query, as: visitor })
  const text = (await beginningOf(response)).replaceAll(/"requestId":"[^"]*"/g, '').replaceAll(/\d{13}/g, 'TIME')
  return `${response.status} ${text}`
}

/** The whole body; of an endless stream its beginning. */
async function beginningOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text()
  const reader = response.body?.getReader()
  const { value } = (await reader?.read()) ?? {}
  await reader?.cancel()
  return Buffer.from(value ?? []).toString()
}

function shapeOf(schema: z.ZodType): Readonly<Record<string, z.core.$ZodType>> {
  return schema instanceof z.ZodObject ? schema.shape : {}
}

function innerOf(schema: z.core.$ZodType): z.core.$ZodType {
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable
  return isWrapped ? innerOf(schema.unwrap()) : schema
}

function isText(schema: z.core.$ZodType): boolean {
  return innerOf(schema) instanceof z.ZodString
}

function optionsOf(schema: z.core.$ZodType): readonly string[] {
  const inner = innerOf(schema)
  return inner instanceof z.ZodEnum ? inner.options.map(String) : []
}
