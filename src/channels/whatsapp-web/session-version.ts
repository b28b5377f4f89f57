import type { ClientVersion, ClientVersions, WantedVersion } from './client-version.ts'
import type { StoredSession } from './stored-session.ts'

const VERSION_KIND = 'version'

/** The version with which one session logs in, also after a restart. */
export class SessionVersion {
  readonly #versions: ClientVersions
  /** Chosen last. */
  wanted: WantedVersion | null = null
  #last: ClientVersion | null = null

  constructor(versions: ClientVersions) {
    this.#versions = versions
  }

  async choose(stored: StoredSession): Promise<WantedVersion | null> {
    const [entry] = await stored.readKeys(VERSION_KIND, [''])
    this.#last = entry ? (entry[1] as ClientVersion) : null
    this.wanted = this.#versions.choose(this.#last)
    return this.wanted
  }

  /** Stores the version of a successful login. The library's own is not stored, because the next library has a newer one. */
  keep(stored: StoredSession, taken: string): void {
    if (this.wanted?.version !== taken || this.wanted.isExact || taken === this.#last) return
    // Only a hint: without it, WhatsApp is asked again.
    stored.writeKeys([[VERSION_KIND, '', this.wanted.version]]).catch(() => {})
  }

  findAnother(): Promise<boolean> {
    return this.#versions.findAnother(this.wanted?.version ?? null)
  }
}
