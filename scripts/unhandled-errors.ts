import { mkdirSync, writeFileSync } from 'node:fs'
import type { Reporter, SerializedError } from 'vitest/node'

const FILE = new URL('../node_modules/.setup/unhandled-errors.json', import.meta.url)

/** Keeps what broke outside of any test, for the last lines of `.ci/run`: the report of the tests does not tell of it. */
export class UnhandledErrors implements Reporter {
  onTestRunEnd(_: unknown, errors: readonly SerializedError[]): void {
    mkdirSync(new URL('.', FILE), { recursive: true })
    writeFileSync(FILE, JSON.stringify(errors.map(({ message, stack }) => stack ?? message)))
  }
}
