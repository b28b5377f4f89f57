import assert from 'node:assert/strict'
import type { NuncioCli } from '../../support/black-box/nuncio-cli.ts'

interface SaidByService {
  readonly error: { readonly since: number; readonly cause: string } | null
}

/** Reads the error that the banner of the console shows. */
export async function readBanner(url: string): Promise<SaidByService['error']> {
  const response = await fetch(`${url}/console/api/storage`)
  assert.equal(response.status, 200)
  return ((await response.json()) as SaidByService).error
}

interface Attention {
  readonly storage: { readonly cause: string } | null
  readonly running: boolean | null
}

/** Asserts the page of a message that waits, or whose result cannot be stored. */
export function assertPageSaysDiskFull([answer, cause, nextStep]: readonly (string | null)[]): void {
  assert.match(answer ?? '', /^(Not sent yet\.|Not known yet: its result cannot be stored now\.)$/)
  assert.equal(cause, 'The disk is full. Nothing can be accepted or sent.')
  assert.equal(
    nextStep,
    'Ask the person who runs Nuncio to make room or repair the database. Nuncio goes on by itself.',
  )
}

/** Asserts that while the disk is full every lane shows the cause, and nothing says that no service runs. */
export async function assertCauseIsSaid(cli: Pick<NuncioCli, 'json'>, cause: RegExp): Promise<void> {
  const connections = await cli.json<{ reason: string; reasonWords?: string }[]>('connection', 'list')
  const { storage, running } = await cli.json<Attention>('attention')

  assert.deepEqual(new Set(connections.map(({ reason }) => reason)), new Set(['storage_unavailable']))
  assert.match(storage?.cause ?? '', cause)
  assert.notEqual(running, false)
}
