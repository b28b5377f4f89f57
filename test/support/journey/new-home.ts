import { afterEach, beforeEach } from 'vitest'
import { withClient } from '../postgres/postgres-server.ts'
import { openTestDatabase, type TestDatabase } from '../postgres/test-database.ts'

/** An empty database of PostgreSQL to move data to. Each test of the file that creates this object gets its own. */
export class NewHome {
  #database: TestDatabase | null = null

  constructor() {
    beforeEach(async () => {
      this.#database = await openTestDatabase()
    })
    afterEach(() => this.#database?.drop())
  }

  get url(): string {
    if (!this.#database) throw new Error('There is one only within a test')
    return this.#database.url
  }

  /** The settings with which a service uses it. */
  get settings(): { readonly NUNCIO_DATABASE_URL: string } {
    return { NUNCIO_DATABASE_URL: this.url }
  }

  query(sql: string): Promise<Record<string, unknown>[]> {
    return withClient(this.url, async (client) => (await client.query(sql)).rows)
  }
}
