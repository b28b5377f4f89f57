import type { LanePolicy } from '../connection/lane-policy.ts'

/** One setting that a channel has for each of its connections, for forms and pages. */
export interface SettingDescription {
  /** As `parseSettings` of the channel reads it. */
  readonly name: string
  readonly label: string
  /** One sentence: what it does. */
  readonly help: string
  /** A secret is written and never shown. A switch is `on` or `off`. */
  readonly kind: 'duration' | 'text' | 'secret' | 'switch'
  /** A connection cannot be added without it. */
  readonly isRequired: boolean
  /** Its value when it is left out, as a person would write it. */
  readonly unset: string
  /** A form can generate the value: this prefix, and this many random bytes in base64. */
  readonly random?: { readonly prefix: string; readonly bytes: number }
}

/** What a channel can do besides sending. */
export interface ChannelAbilities {
  /** People register an address for callbacks at the network. */
  readonly hasCallbacks: boolean
  /** Its network approves templates, and `listTemplates` lists them. */
  readonly hasTemplates: boolean
  /** Its connections are linked devices of phones: people link and unlink them. */
  readonly isLinkedDevice: boolean
}

/** A channel, as people choose it. */
export interface ChannelDescription {
  readonly name: string
  readonly label: string
  /** One sentence: where its messages go. */
  readonly description: string
  readonly settings: readonly SettingDescription[]
  /** How the lanes of new connections differ from others. */
  readonly laneDefaults?: Partial<LanePolicy>
  /** What must run before a number can be connected. LISTEN stands for host and port of its setting `url`. */
  readonly startFirst?: { readonly about: string; readonly command: string }
  /** What a person must know before a number is connected, one sentence each, and what they say to it. */
  readonly warning?: { readonly sentences: readonly string[]; readonly consent: string }
  readonly abilities: ChannelAbilities
  /** Which of the stored settings are secrets, by the names under which `parseSettings` returns them. */
  readonly secretKeys: readonly string[]
  /** Stored settings of a connection as the texts that `parseSettings` reads back as the same; secrets as they are sealed. */
  writeSettings(stored: Readonly<Record<string, unknown>>): Readonly<Record<string, string>>
}
