import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type CliAnswer, runJson } from './nuncio-cli.ts'

const TIMED_OUT = failed('PostgreSQL does not answer (Connection terminated due to connection timeout).')

describe('a command of the command line in a test', () => {
  it('runs again when PostgreSQL was too busy for its connection', async () => {
    const cli = answering(TIMED_OUT, { code: 0, stdout: '[1]', stderr: '' })

    assert.deepEqual([await runJson(cli, ['workers']), cli.runs], [[1], 2])
  })

  it('runs once when anything else is wrong', async () => {
    const cli = answering(failed('Nothing listens there.'), TIMED_OUT)

    await assert.rejects(runJson(cli, ['workers']), /nuncio workers ended with 1: Nothing listens there/)
    assert.equal(cli.runs, 1)
  })
})

function failed(stderr: string): CliAnswer {
  return { code: 1, stdout: '', stderr }
}

function answering(...answers: readonly CliAnswer[]) {
  return {
    runs: 0,
    async run() {
      this.runs += 1
      return answers[this.runs - 1]!
    },
  }
}
