import { secretPlaceOf } from '../core/connection/secret-place.ts'
import type { AccountId, ConnectionId } from '../core/ids.ts'
import type { ChannelDescription } from '../core/ports/channel-description.ts'
import { type Secrets, SecretUnreadable } from '../core/ports/secrets.ts'
import { Refusal } from '../core/refusals.ts'

type StoredSettings = Readonly<Record<string, unknown>>

/** The connection that the secrets belong to. A sealed secret cannot be opened for another one. */
export interface SecretOwner {
  readonly id: ConnectionId
  readonly accountId: AccountId
}

/** The secrets among the settings of a channel's connections. */
export class ConnectionSecrets {
  readonly #secrets: Secrets
  readonly #description: ChannelDescription

  constructor(secrets: Secrets, description: ChannelDescription) {
    this.#secrets = secrets
    this.#description = description
  }

  /** Refuses a sealed text that was copied from a database: it would be stored as a secret that nothing can open. */
  refuseSealed(pairs: Readonly<Record<string, string>>): void {
    for (const { name, kind } of this.#description.settings) {
      const text = pairs[name]
      if (kind !== 'secret' || text === undefined || !this.#secrets.isSealed(text)) continue
      throw new Refusal(
        'setting_invalid',
        `${name} is encrypted by this service already. Give the secret itself.`,
        name,
      )
    }
  }

  /** Seals the secrets that are not sealed yet. */
  seal(settings: StoredSettings, owner: SecretOwner): StoredSettings {
    return this.#map(settings, (text, name) =>
      this.#secrets.isSealed(text) ? text : this.#secrets.seal(text, secretPlaceOf(owner, name)),
    )
  }

  /** Opens all secrets. A `Refusal` names the setting whose secret cannot be opened and must be given anew. */
  open(settings: StoredSettings, owner: SecretOwner): StoredSettings {
    return this.#map(settings, (text, name) => {
      if (!this.#secrets.isSealed(text)) return text
      try {
        return this.#secrets.open(text, secretPlaceOf(owner, name))
      } catch (error) {
        if (!(error instanceof SecretUnreadable)) throw error
        const setting = this.#settingOf(name)
        const sentence = `The stored ${setting} cannot be read. ${error.message} Give it anew.`
        throw new Refusal('setting_invalid', sentence, setting, { cause: error })
      }
    })
  }

  #map(settings: StoredSettings, change: (text: string, name: string) => string): StoredSettings {
    const changed: Record<string, unknown> = { ...settings }
    for (const name of this.#description.secretKeys) {
      const text = changed[name]
      if (typeof text === 'string') changed[name] = change(text, name)
    }
    return changed
  }

  /** The name of a stored secret among the settings that people write. */
  #settingOf(name: string): string {
    const [setting] = Object.keys(this.#description.writeSettings({ [name]: '?' }))
    return setting ?? name
  }
}
