import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { PASSKEY_ANSWER_WITHIN_MS } from '../../../core/people/lifetimes.ts'
import type { NewPasskey } from '../../../core/ports/console/people.ts'
import type { Ticket } from '../../../core/ports/console/sessions.ts'
import { Refusal } from '../../../core/refusals.ts'
import { createSecret, type PeopleParts, secretHash } from './people-parts.ts'

type Json = Readonly<Record<string, unknown>>

/** Loaded when first needed, to save memory. */
function webauthn() {
  return import('@simplewebauthn/server')
}

/** From the configured address, never from a header that the caller chose. */
function ownerOf({ publicUrl }: PeopleParts): { readonly rpID: string; readonly origin: string } {
  const { hostname, origin } = new URL(publicUrl)
  return { rpID: hostname, origin }
}

/** A challenge that any passkey of this person can answer, or any passkey at all if `personId` is null. */
export async function requestPasskey(
  parts: PeopleParts,
  kind: 'passkey-sign-in' | 'passkey-step-up',
  personId: string | null,
) {
  const own = personId === null ? [] : await parts.store.people.listPasskeys(personId)
  const { generateAuthenticationOptions } = await webauthn()
  const options = await generateAuthenticationOptions({
    rpID: ownerOf(parts).rpID,
    userVerification: 'required',
    allowCredentials: own.map(({ credentialId, transports }) => ({
      id: credentialId,
      transports: transports as AuthenticatorTransport[],
    })),
  })
  return {
    ticket: await remember(parts, { kind, personId, content: options.challenge }),
    options: { ...options } as Json,
  }
}

/** The person whose passkey answered. Throws `ticket_dead` or `passkey_refused`. A challenge can be answered once. */
export async function answerPasskey(
  parts: PeopleParts,
  given: {
    readonly ticket: string
    readonly kind: 'passkey-sign-in' | 'passkey-step-up'
    readonly answer: Json
    /** The expected person; null for any person. */
    readonly personId: string | null
  },
): Promise<string> {
  const { people, sessions } = parts.store
  const asked = await sessions.findTicket(secretHash(given.ticket), given.kind, true)
  if (!asked || asked.personId !== given.personId) throw new Refusal('ticket_dead')
  const response = given.answer as unknown as AuthenticationResponseJSON
  const passkey = typeof response.id === 'string' ? await people.findPasskey(response.id) : null
  if (!passkey || (given.personId !== null && passkey.personId !== given.personId)) throw new Refusal('passkey_refused')
  const { rpID, origin } = ownerOf(parts)
  const { verifyAuthenticationResponse } = await webauthn()
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response,
    expectedChallenge: asked.content,
    expectedOrigin: origin,
    expectedRPID: rpID,
    requireUserVerification: true,
    credential: {
      id: passkey.credentialId,
      publicKey: new Uint8Array(passkey.publicKey),
      counter: passkey.signCount,
      transports: passkey.transports as AuthenticatorTransport[],
    },
  }).catch(refuse)
  if (!verified) throw new Refusal('passkey_refused')
  await people.notePasskeyUse(passkey.id, authenticationInfo.newCounter)
  return passkey.personId
}

export async function requestNewPasskey(
  parts: PeopleParts,
  person: { readonly personId: string; readonly email: string; readonly name: string },
) {
  const own = await parts.store.people.listPasskeys(person.personId)
  const { generateRegistrationOptions } = await webauthn()
  const options = await generateRegistrationOptions({
    rpName: 'Nuncio',
    rpID: ownerOf(parts).rpID,
    userName: person.email,
    userDisplayName: person.name,
    userID: new Uint8Array(Buffer.from(person.personId)),
    attestationType: 'none',
    excludeCredentials: own.map(({ credentialId }) => ({ id: credentialId })),
    // It works without a user name, and its device verifies the user.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  const asked = { kind: 'passkey-new', personId: person.personId, content: options.challenge } as const
  return { ticket: await remember(parts, asked), options: { ...options } as Json }
}

export async function readNewPasskey(
  parts: PeopleParts,
  given: { readonly ticket: string; readonly answer: Json; readonly personId: string; readonly name: string },
): Promise<NewPasskey> {
  const asked = await parts.store.sessions.findTicket(secretHash(given.ticket), 'passkey-new', true)
  if (!asked || asked.personId !== given.personId) throw new Refusal('ticket_dead')
  const { rpID, origin } = ownerOf(parts)
  const { verifyRegistrationResponse } = await webauthn()
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: given.answer as unknown as RegistrationResponseJSON,
    expectedChallenge: asked.content,
    expectedOrigin: origin,
    expectedRPID: rpID,
    requireUserVerification: true,
  }).catch(refuse)
  if (!verified || !registrationInfo) throw new Refusal('passkey_refused')
  const { id, publicKey, counter, transports } = registrationInfo.credential
  return {
    personId: given.personId,
    credentialId: id,
    publicKey: Buffer.from(publicKey),
    signCount: counter,
    transports: transports ?? [],
    name: given.name,
  }
}

/** The library throws on every mismatch. The reply does not say which one it was. */
function refuse(cause: unknown): never {
  throw new Refusal('passkey_refused', undefined, null, { cause })
}

async function remember(
  parts: PeopleParts,
  { kind, personId, content }: Pick<Ticket, 'kind' | 'personId' | 'content'>,
): Promise<string> {
  const { secret, sha256 } = createSecret(parts)
  const expiresAt = parts.clock.now() + PASSKEY_ANSWER_WITHIN_MS
  await parts.store.sessions.addTicket({ sha256, kind, personId, content, expiresAt })
  return secret
}
