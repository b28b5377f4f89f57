/** Something that is known about a connection, mostly from its network, in words for people. */
export interface ConnectionFact {
  readonly label: string
  readonly value: string
  /** `warning`: it works, and something should be checked. */
  readonly tone: 'plain' | 'good' | 'warning' | 'bad'
  /** It is Nuncio's own count, of which the network knows nothing. */
  readonly isOwn?: true
}

/** What a network said of a connection when it was asked. */
export interface NetworkAnswer {
  readonly facts: readonly ConnectionFact[]
  /**
   * True: the connection was checked, and all of the answer is stored with it, so a reported change of capabilities is settled.
   * False: only its settings were changed.
   */
  readonly isTakenOver: boolean
}

/** What a network showed when it was asked with a connection's settings. */
export interface ConnectionProof {
  /** The network's id of the number: only one connection of the installation may have it. */
  readonly networkKey: string
  readonly facts: readonly ConnectionFact[]
  /** The settings to store: the given ones, with what the network added to them. */
  readonly settings: Readonly<Record<string, unknown>>
}

/** A message form that the network has approved beforehand. */
export interface TemplateView {
  readonly name: string
  readonly language: string
  /** As the network words it, such as APPROVED. */
  readonly status: string
  readonly category: string
  /** What it begins with: `text`, `image`, `document`, `video`, `location`; null when it has no header. */
  readonly header: string | null
  readonly body: string
  /** The setting of the connection that may name it, such as `template_text`. Null: none may, and `why` says why. */
  readonly fits: string | null
  readonly why: string | null
}

/**
 * What a channel with its own account at a network does when people add, change or view a connection. It needs no
 * running service: the CLI and the console call it. Settings are given with their secrets open.
 */
export interface ChannelOnboarding {
  /**
   * Asks the network whether these settings work for this sender number. Refuses with `connection_not_proven` and the
   * field of the setting that is wrong, in one sentence; with `network_unreachable` when it did not answer.
   */
  prove(wanted: {
    readonly number: string
    readonly settings: Readonly<Record<string, unknown>>
  }): Promise<ConnectionProof>
  /** All of them, in the network’s own order; refuses as `prove` does. */
  listTemplates(settings: Readonly<Record<string, unknown>>): Promise<readonly TemplateView[]>
  /**
   * The secret that the network signs its callbacks with. Connections of an account with the same secret share an address for
   * callbacks. Null when these settings have none.
   */
  callbackSecretOf(settings: Readonly<Record<string, unknown>>): string | null
  /**
   * Whether the network accepts this callback secret for the connection with these settings, whatever secret they have
   * themselves. False also when it did not answer: this never refuses.
   */
  takesCallbackSecret(settings: Readonly<Record<string, unknown>>, secret: string): Promise<boolean>
}
