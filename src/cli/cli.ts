import { settingsOf } from '../config/load-settings.ts'
import type { Settings } from '../config/read-settings.ts'
import type { AdministrationSession } from '../server/wiring/open-administration.ts'
import type { Environment } from './environment.ts'
import { escapeHidden } from './format/printable.ts'
import { printTable, type Table } from './format/table.ts'

/** Who changed something, as the audit log names us. */
export const ACTOR = 'cli'

// A write for each entry of a list of millions would take longer than reading them.
const WRITTEN_AT_ONCE = 65_536

/** What every command works with: its surroundings, and the few things all commands do with them. */
export class Cli {
  readonly surroundings: Environment
  /** Set by a command that has printed its answer but must exit with 1. */
  exitCode = 0

  constructor(surroundings: Environment) {
    this.surroundings = surroundings
  }

  /**
   * The settings, with those `given` to this call; refuses with all that is wrong with them. Warns of unknown variables
   * with the prefix.
   */
  settings(given: Readonly<Record<string, string | undefined>> = {}): Settings {
    const reading = this.surroundings.readSettings(given)
    for (const sentence of reading.unknown) this.warn(sentence)
    return settingsOf(reading)
  }

  /** Opens the data for one piece of work. `create` makes them when there are none. */
  async withAdministration(
    work: (session: AdministrationSession) => Promise<void>,
    { create = false } = {},
  ): Promise<void> {
    const session = await this.surroundings.openAdministration(this.settings(), { create })
    try {
      await work(session)
    } finally {
      await session.close()
    }
  }

  say(text: string): Promise<void> {
    return this.surroundings.out(`${escapeHidden(text)}\n`)
  }

  warn(sentence: string): void {
    this.surroundings.err(`nuncio: warning: ${escapeHidden(sentence)}\n`)
  }

  json(value: unknown): Promise<void> {
    return this.surroundings.out(`${escapeHidden(JSON.stringify(value))}\n`)
  }

  /** An array, one entry in a line, written while it is read: it may be longer than memory. */
  async jsonList(entries: AsyncIterable<unknown> | Iterable<unknown>): Promise<void> {
    let text = ''
    let before = '[\n'
    for await (const entry of entries) {
      text += before + escapeHidden(JSON.stringify(entry))
      before = ',\n'
      if (text.length < WRITTEN_AT_ONCE) continue
      await this.surroundings.out(text)
      text = ''
    }
    await this.surroundings.out(text + (before === '[\n' ? '[]\n' : '\n]\n'))
  }

  table(table: Table): Promise<void> {
    return printTable(table, this.surroundings)
  }
}
