import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { toLibpqUrl } from './client-programs.ts'

const passed = (options: string) => toLibpqUrl(`postgres://anna:s%40cret@db.example:5432/nuncio${options}`)

describe('the URL that programs of PostgreSQL get', () => {
  it('keeps the password off the command line', () => {
    const hidden = [passed(''), toLibpqUrl('postgres://anna@db.example/nuncio?password=s%40cret')]

    for (const { url, added } of hidden) {
      assert.doesNotMatch(url, /cret/)
      assert.deepEqual(added, { PGPASSWORD: 's@cret' })
    }
  })

  it.each([
    ['?ssl=true', 'verify-full'],
    ['?ssl=1', 'verify-full'],
    ['?sslmode=prefer', 'verify-full'],
    ['?sslmode=require', 'verify-full'],
    ['?sslmode=verify-ca', 'verify-full'],
    ['?sslmode=verify-full', 'verify-full'],
    ['?sslrootcert=/ca.pem', 'verify-full'],
    ['?sslnegotiation=direct', 'verify-full'],
    ['?sslmode=no-verify', 'require'],
    ['?ssl=true&sslmode=disable', 'disable'],
    ['?uselibpqcompat=true&sslmode=require', 'require'],
    ['?ssl=0', null],
    ['', null],
  ])('makes them connect as safely as the service does with %s', (options, mode) => {
    assert.equal(new URL(passed(options).url).searchParams.get('sslmode'), mode)
  })
})
