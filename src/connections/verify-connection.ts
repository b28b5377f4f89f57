import { createHmac } from 'node:crypto'
import { BASE62 } from '../core/base62.ts'
import type { AccountId } from '../core/ids.ts'
import type { ChannelDescription } from '../core/ports/channel-description.ts'
import type { ChannelOnboarding, ConnectionProof, TemplateView } from '../core/ports/channel-onboarding.ts'
import type { PreparedChange, ReadPeers, StoredConnection } from '../core/ports/connection-service.ts'
import type { Secrets } from '../core/ports/secrets.ts'
import { Refusal } from '../core/refusals.ts'
import { ConnectionSecrets, type SecretOwner } from './connection-secrets.ts'

type StoredSettings = Readonly<Record<string, unknown>>

interface ConnectionVerifierParts {
  readonly description: ChannelDescription
  readonly onboarding: ChannelOnboarding
  readonly secrets: Secrets
  readonly answersWithinMs: number
}

/** Another connection of the account at the same network. */
interface Neighbour {
  readonly connection: StoredConnection
  /** Null when it has none, or it cannot be read. */
  readonly callbackSecret: string | null
}

interface AskedChange {
  readonly connection: StoredConnection
  /** Proven, with secrets open. */
  readonly settings: StoredSettings
  /** Fires when no caller waits any longer. */
  readonly ending: AbortSignal
}

interface ProvenChange extends Pick<PreparedChange, 'alongside' | 'notChanged'> {
  readonly proof: ConnectionProof
  readonly callbackApp: string | null
}

// Each opens a connection of its own. Hundreds of numbers are asked within seconds, and the network sees no flood.
const MOST_ASKED_AT_ONCE = 16

type Owner = SecretOwner & Pick<StoredConnection, 'channel'>

/** Asks the network of a channel on behalf of people, and finds what its connections share there. */
export class ConnectionVerifier {
  readonly secrets: ConnectionSecrets
  readonly #onboarding: ChannelOnboarding
  readonly #secretKeys: readonly string[]
  readonly #answersWithinMs: number

  constructor({ description, onboarding, secrets, answersWithinMs }: ConnectionVerifierParts) {
    this.secrets = new ConnectionSecrets(secrets, description)
    this.#onboarding = onboarding
    this.#secretKeys = description.secretKeys
    this.#answersWithinMs = answersWithinMs
  }

  /** With secrets open, or sealed for this owner. */
  prove(number: string, settings: StoredSettings, owner: SecretOwner): Promise<ConnectionProof> {
    return this.#inTime(this.#onboarding.prove({ number, settings: this.secrets.open(settings, owner) }))
  }

  listTemplates(connection: StoredConnection): Promise<readonly TemplateView[]> {
    return this.#inTime(this.#onboarding.listTemplates(this.secrets.open(connection.channelSettings, connection)))
  }

  /** Which address for callbacks a new connection has. `settings`: its secrets open. */
  async findApp(owner: Owner, settings: StoredSettings, others: ReadPeers): Promise<string | null> {
    const secret = this.#onboarding.callbackSecretOf(settings)
    if (secret === null) return null
    return appWith(secret, await this.#neighboursOf(owner, others)) ?? callbackPathOf(owner.accountId, secret)
  }

  /** Verifies changed settings, and finds the other connections that they concern, all within the time of one answer. */
  async proveChange(connection: StoredConnection, settings: StoredSettings, others: ReadPeers): Promise<ProvenChange> {
    const ending = new AbortController()
    const timer = setTimeout(() => ending.abort(), this.#answersWithinMs)
    try {
      const proof = await this.prove(connection.number, settings, connection)
      const asked = { connection, settings: proof.settings, ending: ending.signal }
      return { proof, ...(await this.#findChangedApp(asked, others)) }
    } finally {
      clearTimeout(timer)
    }
  }

  /**
   * As `findApp`, for a changed connection. A callback secret belongs to an app at the network, so a new one is given to all
   * numbers of the app. Sharing the address does not prove that they share the app: a number can move to another app alone, and
   * those that stay would lose their callbacks with their old secret.
   */
  async #findChangedApp(
    { connection, settings, ending }: AskedChange,
    others: ReadPeers,
  ): Promise<Omit<ProvenChange, 'proof'>> {
    const current = connection.link?.callbackApp ?? null
    const secret = this.#onboarding.callbackSecretOf(settings)
    if (secret === null || secret === this.#callbackSecretOf(connection))
      return { callbackApp: current, alongside: [], notChanged: [] }
    const neighbours = await this.#neighboursOf(connection, others)
    const sharesAddress = ({ connection: { link } }: Neighbour) => current !== null && link?.callbackApp === current
    const sharing = neighbours.filter((neighbour) => sharesAddress(neighbour))
    const unlike = sharing.filter(({ callbackSecret }) => callbackSecret !== secret)
    const proven = await this.#provenAmong(unlike, secret, ending)
    // Others that have this secret already belong to the same app, which sends all callbacks to one address.
    const joined = appWith(
      secret,
      neighbours.filter((neighbour) => !sharesAddress(neighbour)),
    )
    const callbackApp = joined ?? current ?? callbackPathOf(connection.accountId, secret)
    const key = this.#callbackSecretKey(settings)
    const alongside = sharing
      .filter((one) => proven.has(one) || (one.callbackSecret === secret && callbackApp !== current))
      .map(({ connection: other }) => ({
        connection: other,
        channelSettings: this.secrets.seal({ ...other.channelSettings, [key]: secret }, other),
        link: other.link && { ...other.link, callbackApp },
      }))
    const notChanged = unlike.filter((one) => !proven.has(one)).map((one) => one.connection.number)
    return { callbackApp, alongside, notChanged }
  }

  /** The connections for which the network takes this secret. Those without an answer in time are left out. */
  async #provenAmong(
    neighbours: readonly Neighbour[],
    secret: string,
    ending: AbortSignal,
  ): Promise<ReadonlySet<Neighbour>> {
    const proven = new Set<Neighbour>()
    const left = [...neighbours]
    const askInTurn = async () => {
      for (let next = left.shift(); next && !ending.aborted; next = left.shift())
        if (await this.#takesSecret(next, secret)) proven.add(next)
    }
    const asking = Promise.all(Array.from({ length: MOST_ASKED_AT_ONCE }, askInTurn))
    await Promise.race([asking, endOf(ending)])
    // A copy, because an answer that is late must change nothing any more.
    return new Set(proven)
  }

  async #takesSecret({ connection }: Neighbour, secret: string): Promise<boolean> {
    try {
      return await this.#onboarding.takesCallbackSecret(
        this.secrets.open(connection.channelSettings, connection),
        secret,
      )
    } catch (error) {
      // Its own secrets cannot be read, so it can prove nothing.
      if (error instanceof Refusal) return false
      throw error
    }
  }

  /** The name under which the callback secret is stored. */
  #callbackSecretKey(settings: StoredSettings): string {
    const mark = 'which of them is it?'
    const key = this.#secretKeys.find(
      (name) => this.#onboarding.callbackSecretOf({ ...settings, [name]: mark }) === mark,
    )
    if (key === undefined) throw new Error('The callback secret of this channel is none of its secrets')
    return key
  }

  async #neighboursOf({ id, accountId, channel }: Owner, others: ReadPeers): Promise<readonly Neighbour[]> {
    return (await others())
      .filter((other) => other.id !== id && other.accountId === accountId && other.channel === channel)
      .map((connection) => ({ connection, callbackSecret: this.#callbackSecretOf(connection) }))
  }

  #callbackSecretOf(connection: StoredConnection): string | null {
    try {
      return this.#onboarding.callbackSecretOf(this.secrets.open(connection.channelSettings, connection))
    } catch (error) {
      // It cannot be read, so nothing can be compared with it.
      if (error instanceof Refusal) return null
      throw error
    }
  }

  async #inTime<Answer>(asked: Promise<Answer>): Promise<Answer> {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(tooLate(this.#answersWithinMs)), this.#answersWithinMs)
    try {
      return await Promise.race([asked, late.promise])
    } finally {
      clearTimeout(timer)
      // It may still fail after the last caller stopped waiting.
      asked.catch(() => {})
    }
  }
}

/** The address of those that have this callback secret; null when none has it. */
function appWith(secret: string, neighbours: readonly Neighbour[]): string | null {
  const same = neighbours.find(
    ({ callbackSecret, connection }) => callbackSecret === secret && connection.link?.callbackApp,
  )
  return same?.connection.link?.callbackApp ?? null
}

function endOf(ending: AbortSignal): Promise<void> {
  if (ending.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    ending.addEventListener('abort', () => resolve(), { once: true })
  })
}

function tooLate(answersWithinMs: number): Refusal {
  return new Refusal(
    'network_unreachable',
    `The network did not answer within ${Math.ceil(answersWithinMs / 1_000)} seconds. Check that this machine reaches it (name resolution, firewall, proxy), then try again.`,
  )
}

// 131 bits, so that an address for callbacks cannot be guessed.
const LENGTH = 22

/**
 * The last part of an address for callbacks. It follows from the account and the secret that callbacks are signed with, and is
 * not random: a network has one address for all numbers of an app, so two that are added at the same moment must come to the
 * same one. It reveals nothing of the secret, which has 128 random bits.
 */
function callbackPathOf(accountId: AccountId, callbackSecret: string): string {
  const digest = createHmac('sha256', callbackSecret).update(`callback app of ${accountId}`).digest('hex')
  let rest = BigInt(`0x${digest}`)
  let text = ''
  while (text.length < LENGTH) {
    text += BASE62.charAt(Number(rest % 62n))
    rest /= 62n
  }
  return text
}
