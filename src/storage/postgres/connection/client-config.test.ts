import assert from 'node:assert/strict'
import { Client } from 'pg'
import { describe, it, onTestFinished, vi } from 'vitest'
import { clientConfig } from './client-config.ts'

const URL = 'postgres://nuncio:secret@db/nuncio'

function warningsOf(work: () => void): string[] {
  const said: string[] = []
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((warning) => void said.push(String(warning)))
  onTestFinished(() => spy.mockRestore())
  work()
  return said
}

describe('how a connection to PostgreSQL is made', () => {
  // The library warns once in each process, so all modes are tried in one test.
  it('checks the certificate with each of these modes, and the library complains of none', () => {
    const said = warningsOf(() => {
      for (const mode of [
        '?sslmode=prefer',
        '?sslmode=require&x=1',
        '?x=1&sslmode=verify-ca',
        '?sslmode=verify-full',
      ]) {
        const { ssl } = new Client(clientConfig(URL + mode, 'test')) as unknown as { ssl: object }
        assert.deepEqual({ ...ssl }, {})
      }
    })

    assert.deepEqual(said, [])
  })

  it('leaves the modes of libpq to a URL that asks for them', () => {
    const { connectionString } = clientConfig(`${URL}?uselibpqcompat=true&sslmode=require`, 'test')

    assert.equal(connectionString, `${URL}?uselibpqcompat=true&sslmode=require`)
  })
})
