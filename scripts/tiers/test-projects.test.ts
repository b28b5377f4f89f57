import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { listPaths } from '../source-tree.ts'
import { LONGEST, PROJECTS, projectOf, TIERS } from './test-projects.ts'

describe('the tiers of tests', () => {
  it('have a place for every test file', () => {
    const lost = listPaths('**/*.test.{ts,tsx}').filter((file) => projectOf(file) === null)

    assert.deepEqual(lost, [])
  })

  it('run every project', () => {
    const run = new Set<string>(Object.values(TIERS).flat())

    assert.deepEqual(new Set(PROJECTS.map(({ name }) => name)), run)
  })

  it('run as many files at once in each of their projects, as Vitest requires', () => {
    const workers = Object.values(TIERS).map(
      (names) =>
        new Set(PROJECTS.filter(({ name }) => names.includes(name as never)).map((project) => project.workers)),
    )

    assert.deepEqual(
      workers.map(({ size }) => size),
      workers.map(() => 1),
    )
  })

  it('start only existing files first', () => {
    const files = new Set(listPaths('**/*.test.{ts,tsx}'))

    assert.deepEqual(
      LONGEST.filter((file) => !files.has(file)),
      [],
    )
  })

  it.each([
    ['src/core/token/token.test.ts', 'test'],
    ['console/api/a.test.tsx', 'test'],
    ['test/docs.test.ts', 'test'],
    ['test/conformance/sqlite.test.ts', 'test'],
    ['test/browser/whole-way.test.ts', 'test'],
    ['test/browser/logs.test.ts', 'e2e'],
    ['test/journeys/doctor.test.ts', 'e2e'],
    ['test/deploy/docker.test.ts', 'deploy'],
    ['test/packages/image.test.ts', 'packages'],
    ['test/faults/kill-nine.test.ts', 'faults'],
    ['test/faults/growth/plans.test.ts', 'scale'],
    ['src/storage/postgres/queries/plans.test.ts', 'scale'],
    ['src/storage/postgres/accept/accept-plans.test.ts', 'test'],
    ['test/support/ledger/check-ledger.test.ts', 'harness'],
    ['scripts/bootstrap.test.ts', 'harness'],
  ])('run %s in %s', (file, project) => {
    assert.equal(projectOf(file), project)
  })
})
