import assert from 'node:assert/strict'
import { DatabaseError } from 'pg'
import { describe, it } from 'vitest'
import { createLogger } from './create-logger.ts'
import { describeError } from './describe-error.ts'

const SECRET = 'surprise-on-friday'

/** The line that the log gets. */
function logged(error: unknown): string {
  let line = ''
  const destination = {
    write: (text: string) => {
      line += text
    },
  }
  createLogger({ logLevel: 'info' }, { destination }).error({ err: error }, 'fault')
  return line
}

function thrownBy(call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    return error
  }
}

function ofPostgres(code: string, message: string): DatabaseError {
  return Object.assign(new DatabaseError(message, message.length, 'error'), {
    severity: 'ERROR',
    code,
    detail: `Failing row contains (1, ${SECRET}).`,
    where: `unnamed portal parameter $1 = '${SECRET}'`,
  })
}

describe('an error in the log', () => {
  it('says what it is, its words, its code and where it came from', () => {
    const error = Object.assign(new Error('the disk is full'), { code: 'ENOSPC' })

    const line = JSON.parse(logged(error)) as { level: number; msg: string; err: Record<string, string> }

    assert.equal(line.msg, 'fault')
    assert.equal(line.err['message'], 'the disk is full')
    assert.equal(line.err['code'], 'ENOSPC')
    assert.match(line.err['stack'] ?? '', /^at .*describe-error\.test\.ts/)
  })

  it('lists its causes, and ends where they form a ring', () => {
    const inner = new Error('the cause')
    const outer = new Error('the end', { cause: inner })
    inner.cause = outer

    assert.equal(describeError(outer).cause?.message, 'the cause')
    assert.ok(logged(outer).length < 20_000)
  })

  it.each([
    ['a text that is no JSON', () => JSON.parse(`{"text": ${SECRET}}`)],
    ['a text that is no URL', () => new URL(`http://[${SECRET}`)],
    ['a row that PostgreSQL refuses', () => ofPostgres('23514', 'new row violates check constraint "message_check"')],
    [
      'a value that PostgreSQL cannot read',
      () => ofPostgres('22P02', `invalid input syntax for type bigint: "${SECRET}"`),
    ],
    ['what a statement was asked with', () => ofPostgres('57014', 'canceling statement due to statement timeout')],
    ['a property of its own', () => Object.assign(new Error('x'), { body: SECRET })],
    ['a cause', () => new Error('x', { cause: Object.assign(new Error('y'), { detail: SECRET }) })],
    ['something that is no error', () => `${SECRET}`],
  ])('never quotes %s', (_, make) => {
    assert.ok(!logged(thrownBy(make)).includes(SECRET))
  })
})
