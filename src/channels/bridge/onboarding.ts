import { capabilityDifferences, STORED_CAPABILITIES, typeName } from '../../core/connection/adapter-capabilities.ts'
import { MESSAGE_TYPES, type MessageType } from '../../core/message/message.ts'
import { isSameNumber } from '../../core/number-spellings.ts'
import type { ChannelOnboarding, ConnectionFact, ConnectionProof } from '../../core/ports/channel-onboarding.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { GuardedCall } from '../../core/ports/guarded-call.ts'
import { Refusal } from '../../core/refusals.ts'
import { durationText } from '../../format/durations.ts'
import { minuteText } from '../../format/instants.ts'
import { type Adapter, AdapterClient, hiddenOf, withoutSecrets } from './adapter-client.ts'
import { type AdapterHealth, VERSION } from './protocol.ts'
import { hasReceipts, readBridgeSettings, type StoredSettings } from './settings.ts'
import { keyOf } from './signing.ts'

interface OnboardingParts {
  readonly guarded: GuardedCall
  readonly clock: Clock
}

// Signatures are refused at 300 s, so this leaves a minute for clocks that drift.
const MOST_SKEW_MS = 240_000
const NOTICEABLE_SKEW_MS = 60_000

/** Asks an adapter on behalf of people. Works without the channel. */
export function createOnboarding({ guarded, clock }: OnboardingParts): ChannelOnboarding {
  const client = new AdapterClient({ guarded, clock })
  return {
    prove: ({ number, settings }) => prove({ client, clock }, number, settings),
    // A gateway has no list of numbers to choose from.
    listTemplates: () => Promise.resolve([]),
    callbackSecretOf(settings) {
      const read = readBridgeSettings(settings)
      return hasReceipts(read) ? read.secret : null
    },
    // Each adapter has its own secret, so a new secret of a connection concerns no other connection.
    takesCallbackSecret: () => Promise.resolve(false),
  }
}

async function prove(
  { client, clock }: { readonly client: AdapterClient; readonly clock: Clock },
  number: string,
  settings: StoredSettings,
): Promise<ConnectionProof> {
  const { url, secret, oldSecret, capabilities: before } = readBridgeSettings(settings)
  const texts = [secret, oldSecret].filter((text) => text !== null)
  const adapter: Adapter = { url, keys: texts.flatMap((text) => keyOf(text) ?? []), hidden: hiddenOf(texts) }
  const health = await client.health(adapter, new AbortController().signal)
  if ('kind' in health) throw refusalOf(health)
  const skewMs = health.now - clock.now()
  if (Math.abs(skewMs) > MOST_SKEW_MS)
    throw refuse(
      `The clock of the adapter is ${durationText(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead' : 'behind'}: set both clocks by the network time (NTP).`,
    )
  if (!health.versions.includes(VERSION))
    throw refuse(
      `The adapter speaks version ${health.versions.join(', ')} of the protocol, and Nuncio version ${VERSION}.`,
    )
  if (!health.isReady)
    throw refuse(
      `The adapter answers, but its gateway is not ready: ${withoutSecrets(health.words, adapter) ?? 'it does not say why'}.`.replace(
        /\.\.$/,
        '.',
      ),
    )
  if (health.capabilities.types.length === 0)
    throw refuse(`The adapter sends none of the types of messages: ${MESSAGE_TYPES.map(typeName).join(', ')}.`)
  if (health.senders && !health.senders.some((sender) => isSameNumber(sender, number)))
    throw refuse(
      `The gateway sends from ${health.senders.map((sender) => `+${sender}`).join(', ') || 'no number'}, and this connection from +${number}.`,
    )
  const change = before && capabilityDifferences(before, health.capabilities)
  return {
    // Two connections may share an adapter that has two numbers, but not one of its numbers.
    networkKey: `${url}#${number}`,
    facts: [
      ...factsOf(health, { skewMs, adapter }),
      ...(change ? [{ label: 'Changed', value: change, tone: 'warning' } as const] : []),
    ],
    settings: { ...settings, [STORED_CAPABILITIES]: health.capabilities },
  }
}

function factsOf(
  { adapter: name, gateway, words, senders, logSince, capabilities }: AdapterHealth,
  { skewMs, adapter }: { readonly skewMs: number; readonly adapter: Adapter },
): readonly ConnectionFact[] {
  const { types, receipts, maxTextLength, evidence } = capabilities
  const state = withoutSecrets(words, adapter)
  return [
    plain('Adapter', name),
    { label: 'Gateway', value: state === null ? gateway : `${gateway}: ${state}`, tone: 'good' },
    plain('Numbers', senders ? senders.map((sender) => `+${sender}`).join(', ') : 'not named by the gateway'),
    plain('Types', typesInWords(types)),
    plain('Longest text', maxTextLength === null ? 'not limited by the adapter' : `${maxTextLength} characters`),
    plain('Reports', receipts.join(', ') || 'none: messages stay PUBLISHED'),
    plain('Evidence', evidence ? 'from the gateway and the log of the adapter' : 'from the log of the adapter'),
    plain('Log since', minuteText(logSince)),
    {
      label: 'Clock',
      value: `${durationText(Math.abs(skewMs))} ${skewMs >= 0 ? 'ahead' : 'behind'}`,
      tone: Math.abs(skewMs) > NOTICEABLE_SKEW_MS ? 'warning' : 'plain',
    },
  ]
}

function typesInWords(types: readonly MessageType[]): string {
  const others = MESSAGE_TYPES.filter((type) => !types.includes(type))
  const sent = types.map(typeName).join(', ')
  return others.length === 0 ? sent : `${sent}; of ${others.map(typeName).join(', ')} each message fails`
}

function plain(label: string, value: string): ConnectionFact {
  return { label, value, tone: 'plain' }
}

function refusalOf(end: Extract<Awaited<ReturnType<AdapterClient['health']>>, { kind: string }>): Refusal {
  if (end.kind === 'not-sent' && end.code === 'blocked')
    return refuse(
      'The adapter must have an https URL on the internet. For http or a private address, have the operator add its origin, such as http://127.0.0.1:7900, to NUNCIO_BRIDGE_ORIGINS.',
    )
  if (end.kind === 'unsigned')
    return new Refusal(
      'connection_not_proven',
      `${end.words} Start the adapter with the secret of this connection, and check the URL.`,
      'secret',
    )
  return new Refusal('network_unreachable', `The adapter gave no answer: ${end.words} Start it, then try again.`, 'url')
}

function refuse(sentence: string): Refusal {
  return new Refusal('connection_not_proven', sentence, 'url')
}
