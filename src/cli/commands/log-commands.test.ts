import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { cameWith, logRequest } from '../../../test/support/administration-world/log-request.ts'
import { ENGINES, type EngineName, NOON } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import type { AccountId, ConnectionId, MessageId, TokenId } from '../../core/ids.ts'

let world: CliWorld
let acme: AccountId
let connectionId: ConnectionId
let token: { id: TokenId; token: string }

async function open(engine: EngineName) {
  world = new CliWorld()
  const close = await world.open(engine)
  acme = await world.account()
  connectionId = await world.connection(acme)
  token = await world.json('token', 'create', '--name', 'shop', '--expires', '30d')
  return close
}

async function accept(): Promise<MessageId> {
  const { id, sequence } = await world.accept({ connectionId, state: 'PUBLISHED' })
  await cameWith(world, sequence, token.id)
  return id
}

type More = Partial<Parameters<typeof logRequest>[1]>

async function refuse(requestId: string, more: More = {}) {
  const body = '{"from":"15550001000",\n"to":"1\u009b31m","message":{"type":"message","message":" "}}'
  const errors = [
    { field: 'to', code: 'number_malformed', message: 'A number is its country code and digits only.' },
    { field: null, code: 'text_empty', message: 'The text must hold more than white space.' },
  ]
  await logRequest(world, {
    accountId: acme,
    tokenId: token.id,
    requestId,
    receivedAt: NOON - 180_000,
    body,
    errors,
    ...more,
  })
}

async function ids(...args: string[]): Promise<string[]> {
  const requests = await world.json<{ requestId: string }[]>('log', 'list', ...args)
  return requests.map(({ requestId }) => requestId)
}

describe.each(ENGINES)('the API log, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('is listed with exactly the promised fields', async () => {
    const id = await accept()

    assert.deepEqual(await world.json('log', 'list'), [
      {
        requestId: 'request-1',
        account: 'Acme',
        token: 'shop',
        receivedAt: '2026-01-15T11:59:59.999Z',
        status: 200,
        code: 'HC-1',
        outcome: 'accepted',
        errors: [],
        messageId: id,
        state: 'PUBLISHED',
        connection: '15550001000',
        to: '15550100000',
        type: 'message',
        remoteAddress: '203.0.113.9',
        userAgent: 'curl/8',
        tookMs: null,
        summed: null,
      },
    ])
  })

  it('is shown as a table with what became of each request', async () => {
    await accept()
    await refuse('refused-1')

    const { stdout } = await world.cli('log', 'list')

    assert.match(stdout, /^REQUEST +RECEIVED +STATUS +OUTCOME +STATE OR ERROR +FROM +TO +TOKEN +ACCOUNT +MESSAGE\n/)
    assert.match(
      stdout,
      /\nrequest-1 +now +200 +accepted +PUBLISHED +15550001000 +15550100000 +shop +Acme +message-1\n/,
    )
    assert.match(
      stdout,
      /\nrefused-1 +3 minutes ago +400 +refused +number_malformed, text_empty +15550001000 +1\\u009b31m +shop +Acme +–\n$/,
    )
  })

  it('G10: says of an entry that stands for many how many those were', async () => {
    const at = world.now
    await refuse('sum', { receivedAt: at, body: null, summed: { requests: 12_345, since: at - 30_000 } })

    const { stdout } = await world.cli('log', 'list')
    const [entry] = await world.json<{ outcome: string; summed: object }[]>('log', 'list')
    const printed = await world.cli('log', 'show', 'sum')

    assert.match(stdout, /\nsum +now +400 +refused 12345 times +number_malformed, text_empty +– +– +shop +Acme +–\n$/)
    const since = new Date(at - 30_000).toISOString()
    assert.deepEqual([entry?.outcome, entry?.summed], ['refused', { requests: 12_345, since }])
    assert.deepEqual(printed.stdout.split('\n').slice(0, 5), [
      'Entry sum',
      'of the account “Acme”, with the token “shop”',
      '',
      '12345 requests were refused like this between 2026-01-15 11:59:30.000 UTC and 2026-01-15 12:00:00.000 UTC, and not listed one by one:',
      'the account was refused more within an hour than NUNCIO_REFUSED_LOG_MB_PER_HOUR keeps.',
    ])
    assert.match(printed.stdout, /\n {2}A number is its country code and digits only\. \(number_malformed\)\n/)
    assert.doesNotMatch(printed.stdout, /Body|203\.0\.113\.9/)
  })

  it('G10: says of a request what had ended its token, and who had done it', async () => {
    const since = world.now - 60_000
    const why = async (id: string) => /\nWhy: (.*)\n/.exec((await world.cli('log', 'show', id)).stdout)?.[1]
    await world.run('update token set expires_at = ?, successor_id = ?', since, 'tok_new')
    await refuse('replaced', { status: 401, receivedAt: world.now })
    const replaced = await why('replaced')
    await world.json('token', 'delete', token.id)
    await refuse('deleted', { status: 401, receivedAt: world.now })

    const deleted = await why('deleted')
    const shown = await world.json('log', 'show', 'deleted')

    assert.equal(
      replaced,
      'The token “shop” was replaced; the old one ended on 15 Jan 2026, 11:59:00 UTC. Give the caller the new token.',
    )
    assert.equal(
      deleted,
      'The token “shop” was deleted by the command line on 15 Jan 2026, 12:00:00 UTC. Give the caller a valid token.',
    )
    assert.deepEqual(shown['endedToken'], { name: 'shop', how: 'deleted', at: '2026-01-15T12:00:00.000Z', by: 'cli' })
  })

  it('says when it is empty', async () => {
    assert.match((await world.cli('log', 'list')).stdout, /^There is no such request\./)
    assert.equal((await world.cli('log', 'list', '--json')).stdout, '[]\n')
  })

  it('shows the newest 50 and says so, and all of them to programs', async () => {
    for (let index = 0; index < 51; index += 1) await refuse(`r-${index}`)

    const { stdout } = await world.cli('log', 'list')
    const lines = stdout.trimEnd().split('\n')

    assert.equal(lines.length, 52)
    assert.match(lines[1] ?? '', /^r-50 /)
    assert.equal(lines.at(-1), 'These are the newest 50. More: --limit COUNT; all of them: --json')
    assert.equal((await ids()).length, 51)
    assert.deepEqual(await ids('--limit', '2'), ['r-50', 'r-49'])
    assert.equal((await world.cli('log', 'list', '--limit', '51')).stdout.trimEnd().split('\n').length, 52)
  })

  it('does not speak of more when there is none', async () => {
    for (let index = 0; index < 50; index += 1) await refuse(`r-${index}`)

    assert.doesNotMatch((await world.cli('log', 'list')).stdout, /newest/)
  })

  it('is filtered by status and number', async () => {
    await accept()
    await refuse('a', { status: 401 })
    await refuse('b', { status: 429 })

    assert.deepEqual(await ids('--status', '4xx'), ['b', 'a'])
    assert.deepEqual(await ids('--status', '2XX'), ['request-1'])
    assert.deepEqual(await ids('--status', '401'), ['a'])
    assert.deepEqual(await ids('--connection', '15550001000', '--status', '200'), ['request-1'])
    assert.deepEqual(await ids('--connection', '15559999999'), [])
  })

  it.each(['name', 'id', 'as listed', 'whole'])('is filtered by token (%s), also after its deletion', async (by) => {
    const { id: other } = await world.json<{ id: TokenId }>('token', 'create', '--name', 'other', '--expires', '7d')
    await refuse('ours')
    await refuse('others', { tokenId: other })
    await world.cli('token', 'delete', 'shop')
    const ways = { name: 'shop', id: token.id, 'as listed': `${token.token.slice(0, 12)}…`, whole: token.token }

    assert.deepEqual(await ids('--token', ways[by as keyof typeof ways]), ['ours'])
  })

  it('holds under a name what all tokens did that ever had it', async () => {
    await refuse('old')
    await world.cli('token', 'delete', 'shop')
    const successor = await world.json<{ id: TokenId }>('token', 'create', '--name', 'shop', '--expires', '7d')
    await refuse('new', { tokenId: successor.id })

    assert.deepEqual(await ids('--token', 'shop'), ['new', 'old'])
    assert.deepEqual(await ids('--token', successor.id), ['new'])
  })

  it('G8: of one account holds nothing of another, and knows none of its tokens', async () => {
    const rival = await world.account('Rival')
    const create = ['token', 'create', '--name', 'rivals', '--expires', '7d', '--account', 'Rival']
    const rivals = await world.json<{ id: TokenId }>(...create)
    await refuse('ours')
    await refuse('theirs', { accountId: rival, tokenId: rivals.id })

    assert.deepEqual(await ids('--account', 'Acme'), ['ours'])
    assert.deepEqual(await ids('--account', 'Rival'), ['theirs'])
    const answer = await world.cli('log', 'list', '--account', 'Acme', '--token', 'rivals')
    assert.match(
      answer.stderr,
      /^nuncio: There is no token with the id, prefix or name “rivals”\. \(token_unknown\)\n$/,
    )
    assert.equal((await world.cli('log', 'show', 'theirs', '--account', 'Acme')).code, 1)
    assert.equal((await world.cli('log', 'show', 'theirs', '--account', 'Rival')).code, 0)
  })

  it('does not say a whole token back', async () => {
    const { stderr } = await world.cli('log', 'list', '--token', `nco_${'x'.repeat(38)}`)

    assert.match(stderr, /“nco_xxxxxxxx…”/)
  })

  it.each([
    [['log', 'list', '--status', 'bad'], 2, 'argument_invalid'],
    [['log', 'list', '--status', '600'], 2, 'argument_invalid'],
    [['log', 'list', '--status', '4x'], 2, 'argument_invalid'],
    [['log', 'list', '--limit', '0'], 2, 'argument_invalid'],
    [['log', 'list', '--connection', '+1'], 2, 'number_malformed'],
    [['log', 'list', '--account', 'Missing'], 1, 'account_unknown'],
    [['log', 'list', '--token', 'missing'], 1, 'token_unknown'],
    [['log', 'show', 'none'], 1, 'request_unknown'],
    [['log', 'show', 'none', '--account', 'Missing'], 1, 'account_unknown'],
  ])('refuses %j', async (args, code, refusal) => {
    await accept()

    const answer = await world.cli(...args)

    assert.deepEqual([answer.code, answer.stdout], [code, ''])
    assert.match(answer.stderr, new RegExp(`^nuncio: [^\n]*\\(${refusal}\\)\n$`))
  })
})

describe.each(ENGINES)('one request, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('is printed in plain words: what was wrong, which caller sent it, and the body as it came', async () => {
    await refuse('refused-1')

    const { stdout } = await world.cli('log', 'show', 'refused-1')

    assert.deepEqual(stdout.split('\n'), [
      'Request refused-1',
      'of the account “Acme”, with the token “shop”, from 203.0.113.9, by curl/8',
      '',
      'Received: 3 minutes ago, at 2026-01-15 11:57:00.000 UTC',
      'Answered: 400 HC-2 (bad_request_400), after 0.8 ms',
      'Outcome: refused',
      '  to: A number is its country code and digits only. (number_malformed)',
      '  the whole request: The text must hold more than white space. (text_empty)',
      '',
      'Body:',
      '{"from":"15550001000",',
      // What could drive the terminal is shown, not sent to it.
      '"to":"1\\u009b31m","message":{"type":"message","message":" "}}',
      '',
    ])
  })

  it('points to the timeline of its message', async () => {
    const id = await accept()
    await logRequest(world, { accountId: acme, tokenId: token.id, requestId: 'again', messageId: id })

    const first = (await world.cli('log', 'show', 'request-1')).stdout
    const again = (await world.cli('log', 'show', 'again')).stdout

    assert.match(first, /\nAnswered: 200 HC-1 \(success_200\)\nOutcome: accepted\n/)
    assert.match(first, /\nMessage: message-1 from 15550001000 to 15550100000, PUBLISHED now\n/)
    assert.match(first, /\nIts timeline: nuncio message explain message-1\n\nBody:\n\{"from":"15550001000",/)
    assert.match(again, /\nOutcome: repeated\nMessage: message-1 /)
    assert.match(again, /\nBody: not kept, because it was not read or is no text\n$/)
  })

  it('is given to programs with its body', async () => {
    await accept()
    const [listed] = await world.json<object[]>('log', 'list')

    const shown = await world.json('log', 'show', 'request-1')

    const [kept] = await world.all('select body from message')
    assert.deepEqual(shown, { ...listed, endedToken: null, body: kept?.['body'], bodyDeletedAt: null })
  })
})
