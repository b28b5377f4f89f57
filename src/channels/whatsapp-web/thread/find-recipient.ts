import { type Device, type DevicesParts, readDevices } from './devices.ts'
import { deviceOf, userOf } from './jid.ts'
import type { LibrarySocket, StanzaNode } from './library.ts'
import type { Found } from './messages.ts'
import type { SharedWork } from './shared-work.ts'
import type { StoredState } from './stored-state.ts'

// A number seldom leaves WhatsApp, and asking again each time would be noticed.
const KNOWN_FOR_MS = 7 * 24 * 3_600_000
const RECIPIENT_KIND = 'recipient'
// As the library counts: a token is asked for once in each such week.
const TOKEN_WEEK_SECONDS = 7 * 24 * 3_600
/** WhatsApp's code for a device that it has no keys for. */
const GONE = 406
const TOKEN_TYPE = 'trusted_contact'

interface FindParts extends DevicesParts {
  /** The devices of our own number are looked up once for all look-ups that run at the same time. */
  readonly ownDevices: SharedWork<Opened>
}

/** Sessions with the devices of a person. */
export interface Opened {
  /** WhatsApp has named devices. An unanswered query yields none. */
  readonly isAnswered: boolean
  /** At least one device of the person is not gone. */
  readonly isReachable: boolean
}

/** Finds a recipient and opens sessions with its devices, so that only the message itself is left to be written. */
export async function findRecipient(parts: FindParts, number: string): Promise<Found> {
  try {
    return await find(parts, number)
  } catch {
    // The line ended, or a device is gone and WhatsApp has no keys for it.
    return { kind: 'unanswered' }
  }
}

async function find(parts: FindParts, number: string): Promise<Found> {
  const known = await findAddress(parts, number)
  if (known.kind !== 'found') return known
  const { jid } = known
  const own = withoutDevice(parts.credentials.me?.id ?? '')
  // Our own phone gets each message, too. Two look-ups at once would each take a one-time key of it, and open another session.
  const ours = await parts.ownDevices.run(() => openSessionsWith(parts, own))
  if (!ours.isAnswered) return { kind: 'unanswered' }
  const theirs = await openSessionsWith(parts, jid)
  // The library would write to our own phone alone.
  if (!theirs.isReachable) return { kind: 'unanswered' }
  await noteToken(parts, jid)
  return known
}

async function openSessionsWith(parts: FindParts, jid: string): Promise<Opened> {
  const devices = await readDevices(parts, jid)
  const gone = await openSessions(parts, devices)
  const isReachable = devices.some((device) => device.user === userOf(jid) && !gone.has(device.jid))
  return { isAnswered: devices.length > 0, isReachable }
}

/** Returns the devices that are gone: they were unlinked, and WhatsApp has no keys of them any more. */
async function openSessions({ socket, state }: FindParts, devices: readonly Device[]): Promise<ReadonlySet<string>> {
  const gone = new Set<string>()
  try {
    await socket.assertSessions(devices.map(({ jid }) => jid))
  } catch (error) {
    if (!isGone(error)) throw error
    // It does not say which.
    for (const { jid, user } of devices) {
      if (!(await isThere(socket, jid))) {
        gone.add(jid)
        await state.changeDevices(user, (cached) => cached.filter(({ device }) => device !== deviceOf(jid)))
      }
    }
  }
  return gone
}

async function isThere(socket: LibrarySocket, jid: string): Promise<boolean> {
  try {
    await socket.assertSessions([jid])
    return true
  } catch (error) {
    if (!isGone(error)) throw error
    return false
  }
}

function isGone(error: unknown): boolean {
  return (error as { readonly data?: unknown } | undefined)?.data === GONE
}

/** The address of a number that was looked up before; null when it was not. */
export async function addressOf(state: StoredState, number: string): Promise<string | null> {
  const stored = (await state.get(RECIPIENT_KIND, [number]))[number] as StoredRecipient | undefined
  return stored?.jid ?? null
}

async function findAddress({ socket, state }: FindParts, number: string): Promise<Found> {
  const stored = (await state.get(RECIPIENT_KIND, [number]))[number] as StoredRecipient | undefined
  if (stored && Date.now() - stored.at < KNOWN_FOR_MS) return { kind: 'found', jid: stored.jid }
  const answer = await socket.onWhatsApp(number)
  // Undefined is no answer, and says nothing about the number.
  if (!answer) return { kind: 'unanswered' }
  const found = answer.find(({ exists }) => exists)
  if (!found) return { kind: 'not-on-whatsapp' }
  await state.set({ [RECIPIENT_KIND]: { [number]: { jid: found.jid, at: Date.now() } satisfies StoredRecipient } })
  return { kind: 'found', jid: found.jid }
}

interface StoredRecipient {
  readonly jid: string
  readonly at: number
}

/**
 * The library asks for a trusted-contact token after each message, because its note that it did is lost with a transaction
 * that has ended. We note it before the message and ask ourselves, once a week.
 */
async function noteToken({ socket, state }: FindParts, jid: string): Promise<void> {
  const lid = (await socket.signalRepository.lidMapping.getLIDForPN(jid)) ?? jid
  const stored = (await state.get('tctoken', [lid]))[lid] as StoredToken | undefined
  const now = Math.floor(Date.now() / 1000)
  if (stored?.senderTimestamp !== undefined && weekOf(stored.senderTimestamp) >= weekOf(now)) return
  const noted: StoredToken = { token: Buffer.alloc(0), ...stored, senderTimestamp: now }
  await state.set({ tctoken: { [lid]: noted } })
  // Nothing waits for it: a message may be sent without.
  const asked = socket.serverProps?.lidTrustedTokenIssueToLid ? lid : jid
  const keep = async (answer: StanzaNode | undefined) => {
    const found = answer && findToken(answer)
    if (found) await state.set({ tctoken: { [lid]: { ...noted, ...found } } })
  }
  socket.issuePrivacyTokens([asked]).then(keep).catch(ignore)
}

interface StoredToken {
  readonly token: Uint8Array
  readonly timestamp?: string
  readonly senderTimestamp?: number
}

function findToken(answer: StanzaNode): Pick<StoredToken, 'token' | 'timestamp'> | null {
  const tokens = childrenOf(answer).find(({ tag }) => tag === 'tokens')
  const token = tokens && childrenOf(tokens).find(({ attrs }) => attrs['type'] === TOKEN_TYPE)
  const timestamp = token?.attrs['t']
  return token?.content instanceof Uint8Array && timestamp ? { token: Buffer.from(token.content), timestamp } : null
}

function childrenOf({ content }: StanzaNode): readonly StanzaNode[] {
  return Array.isArray(content) ? (content as readonly StanzaNode[]) : []
}

function weekOf(seconds: number): number {
  return Math.floor(seconds / TOKEN_WEEK_SECONDS)
}

function withoutDevice(jid: string): string {
  return jid.replace(/:\d+@/, '@')
}

function ignore(): void {}
