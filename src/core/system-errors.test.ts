import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { StorageUnavailable } from './ports/lanes.ts'
import { refusalOfListening, refusalOfSystem } from './system-errors.ts'

const FILE = '/data/nuncio.db'

function systemError(code: string, path?: string): Error {
  return Object.assign(new Error(`${code}: as Node says it`), { code, ...(path === undefined ? {} : { path }) })
}

describe('what the system says of a file', () => {
  it.each([
    ['ENOSPC', /^There is no room left on the disk of \/data\/nuncio\.db\. Make room/],
    ['EDQUOT', /quota/],
    ['EROFS', /mounted read-only\. Mount it/],
    ['EIO', /reported an error\. Have the disk checked/],
    ['EACCES', /^This user may not use \/data\/nuncio\.db\. Run it as/],
    ['EPERM', /allows this user nothing/],
    ['ENOENT', /is not there\. Make it/],
    ['ENOTDIR', /not a folder\. Correct/],
    ['EISDIR', /is a folder, and must be a file/],
    ['EMFILE', /Raise the limit: ulimit -n/],
    ['ENFILE', /fs\.file-max/],
  ])('is a sentence that says what to do: %s', (code, sentence) => {
    const refusal = refusalOfSystem(systemError(code, FILE))

    assert.equal(refusal?.code, 'file_unusable')
    assert.match(refusal?.message ?? '', sentence)
  })

  it('is given for a write, too, which names no file', () => {
    assert.match(refusalOfSystem(systemError('ENOSPC'))?.message ?? '', /no room left on the disk of the data/)
  })

  it('is given for a start that can write nothing', () => {
    const refusal = refusalOfSystem(new StorageUnavailable('the disk is full', false))

    assert.equal(refusal?.code, 'database_unavailable')
    assert.match(refusal?.message ?? '', /^Nothing can be written to the database: the disk is full\. Make room/)
  })

  it('is none of what may be a fault of ours', () => {
    const faults = [new Error('no'), systemError('EFAULT', FILE), systemError('ENOENT'), systemError('ERR_INVALID_ARG')]

    assert.deepEqual(faults.map(refusalOfSystem), [null, null, null, null])
  })
})

describe('what the system says of an address to listen on', () => {
  it.each([
    ['EADDRINUSE', 'address_in_use', /Another program listens on 10\.1\.1\.1:80 already\. Set NUNCIO_PORT/],
    ['EACCES', 'address_unusable', /may not listen on port 80: .*Set NUNCIO_PORT to 1024 or more/],
    ['EADDRNOTAVAIL', 'address_unusable', /no address 10\.1\.1\.1\. Set NUNCIO_HOST/],
    ['EAFNOSUPPORT', 'address_unusable', /cannot use addresses such as/],
    ['ENOTFOUND', 'address_unusable', /The name 10\.1\.1\.1 is not known\. Set NUNCIO_HOST/],
    ['EAI_AGAIN', 'address_unusable', /could not be looked up/],
    ['EMFILE', 'file_unusable', /ulimit -n/],
  ])('is a sentence that says what to do: %s', (code, as, sentence) => {
    const refusal = refusalOfListening(systemError(code), { host: '10.1.1.1', port: 80 })

    assert.equal(refusal?.code, as)
    assert.match(refusal?.message ?? '', sentence)
  })
})
