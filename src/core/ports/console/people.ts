import type { AccountId, Instant } from '../../ids.ts'
import type { Role } from '../../people/role.ts'
import type { Actor } from '../administration.ts'

export interface PersonView {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly createdAt: Instant
  readonly lastSignInAt: Instant | null
  readonly hasPassword: boolean
  readonly hasSecondFactor: boolean
  readonly accounts: readonly {
    readonly id: AccountId
    readonly name: string
    readonly role: Role
    readonly requiresSecondFactor: boolean
  }[]
}

/** What is compared at a sign-in; never leaves the server. */
export interface Credentials {
  readonly personId: string
  readonly email: string
  readonly passwordHash: string | null
  readonly hasTotp: boolean
  readonly hasPasskey: boolean
}

export interface Membership {
  readonly accountId: AccountId
  readonly role: Role
}

interface MemberView {
  readonly personId: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly joinedAt: Instant
  readonly lastSignInAt: Instant | null
  readonly hasSecondFactor: boolean
}

interface InvitationView {
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly createdAt: Instant
  readonly expiresAt: Instant
  readonly createdBy: string
}

interface AccountSettings {
  readonly id: AccountId
  readonly name: string
  readonly createdAt: Instant
  readonly requiresSecondFactor: boolean
}

export type LinkKind = 'set-up' | 'invitation' | 'reset-password'

export interface NewLink {
  readonly kind: LinkKind
  readonly sha256: Buffer
  /** The person whose password it resets. */
  readonly personId: string | null
  /** The invited person's e-mail and the account. */
  readonly invitation: (Membership & { readonly email: string }) | null
}

/** A link that can still be used. */
export interface LinkView {
  readonly id: string
  readonly kind: LinkKind
  readonly expiresAt: Instant
  /** The e-mail of the person it is for; null for a setup link. */
  readonly email: string | null
  readonly account: string | null
  readonly role: Role | null
  /** The person that has this e-mail already. */
  readonly personId: string | null
}

export interface NewPerson {
  readonly email: string
  readonly name: string
  readonly passwordHash: string
}

/** Persons and how they come in. Each change is one transaction that also writes the audit log. */
export interface Persons {
  hasPeople(): Promise<boolean>
  findPerson(personId: string): Promise<PersonView | null>
  /** By e-mail, whatever its case. */
  findCredentials(email: string): Promise<Credentials | null>
  findCredentialsOf(personId: string): Promise<Credentials | null>
  listPeople(): Promise<readonly PersonView[]>
  /** Refuses with `person_exists`. */
  addPerson(person: NewPerson, membership: Membership, by: Actor): Promise<PersonView>
  changeName(personId: string, name: string, by: Actor): Promise<void>
  /** Ends all sessions of the person but `keep`, and invalidates links to reset the password. */
  setPassword(personId: string, set: { readonly hash: string; readonly keep: string | null }, by: Actor): Promise<void>
  /** The same password, hashed anew. Nothing happens when the password was changed meanwhile. */
  rehashPassword(personId: string, from: string, to: string): Promise<void>

  /**
   * Its kind decides how long it is valid. A new link invalidates older ones for the same purpose: the password of the same
   * person, or the same e-mail in the same account. Refuses setup links with `people_exist`, and invitations of members with
   * `person_exists`.
   */
  createPersonLink(link: NewLink, by: Actor): Promise<LinkView>
  /** Null when it is unknown, used, withdrawn or too old, or its maker is no longer an owner. */
  findPersonLink(sha256: Buffer, kind: LinkKind): Promise<LinkView | null>
  /** Makes the first person, owner of the first account, and returns their id. Refuses with `link_dead`. */
  setUp(sha256: Buffer, person: NewPerson, by: Actor): Promise<string>
  /** Creates the invited person and returns their id. Refuses with `link_dead`, or `person_exists` when they must sign in first. */
  acceptInvitation(sha256: Buffer, person: Omit<NewPerson, 'email'>, by: Actor): Promise<string>
  /** For a person who exists. Refuses with `link_dead`, also when it was meant for another person. Returns the account. */
  joinAccount(sha256: Buffer, personId: string, by: Actor): Promise<AccountId>
  /** Ends all sessions of the person and returns their id. Refuses with `link_dead`. */
  resetPassword(sha256: Buffer, passwordHash: string, by: Actor): Promise<string>
}

/** Who belongs to an account. All refuse with `member_unknown` what is not of this account. */
export interface Members {
  readAccount(accountId: AccountId): Promise<AccountSettings>
  /** Refuses with `account_exists`. */
  renameAccount(accountId: AccountId, name: string, by: Actor): Promise<void>
  requireSecondFactor(accountId: AccountId, isRequired: boolean, by: Actor): Promise<void>
  listMembers(accountId: AccountId): Promise<readonly MemberView[]>
  /** Refuses with `last_owner` when the account has no other owner. */
  changeRole(membership: Membership & { readonly personId: string }, by: Actor): Promise<void>
  /** Refuses with `last_owner`. */
  removeMember(accountId: AccountId, personId: string, by: Actor): Promise<void>
  /** Those that can still be used, newest first. None whose maker is no longer an owner of the account. */
  listInvitations(accountId: AccountId): Promise<readonly InvitationView[]>
  /** Refuses with `invitation_unknown`. */
  withdrawInvitation(accountId: AccountId, id: string, by: Actor): Promise<void>
}

interface PasskeyView {
  readonly id: string
  readonly name: string
  readonly createdAt: Instant
  readonly lastUsedAt: Instant | null
}

/** A passkey as the library needs it to check an answer. */
export interface Passkey {
  readonly id: string
  readonly personId: string
  /** Base64url, as browsers name it. */
  readonly credentialId: string
  readonly publicKey: Buffer
  readonly signCount: number
  readonly transports: readonly string[]
}

export type NewPasskey = Omit<Passkey, 'id'> & { readonly name: string }

/** The second factors of a person. */
export interface FactorsView {
  /** Null when it was never set up, or only begun. */
  readonly totpSince: Instant | null
  readonly passkeys: readonly PasskeyView[]
  readonly recoveryCodesLeft: number
}

/** A person's change to how they sign in: all their sessions but `keep` end. */
export interface FactorChange {
  readonly personId: string
  readonly keep: string
  readonly by: Actor
}

/** Second factors. */
export interface Factors {
  readFactors(personId: string): Promise<FactorsView>
  /** Remembers the sealed secret until it is confirmed; the one in use goes on. */
  beginTotp(personId: string, secret: Buffer): Promise<void>
  /** The sealed secret in use, or the one to be confirmed; null when there is none. */
  readTotp(personId: string, which: 'confirmed' | 'begun'): Promise<Buffer | null>
  /** `step` is that of the code that confirmed it, which counts as used. False when nothing was begun. */
  confirmTotp(change: FactorChange, step: number): Promise<boolean>
  /** False when a code of this step, or of a later one, was used before: each works once. */
  spendTotpStep(personId: string, step: number): Promise<boolean>
  /** Recovery codes go with the last factor. False when there was none. */
  removeTotp(change: FactorChange): Promise<boolean>

  listPasskeys(personId: string): Promise<readonly Passkey[]>
  findPasskey(credentialId: string): Promise<Passkey | null>
  /** Refuses with `passkey_exists`. */
  addPasskey(change: FactorChange, passkey: NewPasskey): Promise<void>
  notePasskeyUse(id: string, signCount: number): Promise<void>
  /** False when the person has no such passkey. */
  renamePasskey(personId: string, change: { readonly id: string; readonly name: string }, by: Actor): Promise<boolean>
  removePasskey(change: FactorChange, id: string): Promise<boolean>

  /** For a person who has lost all factors. Ends all their sessions. */
  removeAllFactors(personId: string, by: Actor): Promise<void>

  /** Replaces all earlier codes. */
  replaceRecoveryCodes(personId: string, sha256s: readonly Buffer[], by: Actor): Promise<void>
  /** True once for each code. */
  spendRecoveryCode(personId: string, sha256: Buffer, by: Actor): Promise<boolean>
}

export interface People extends Persons, Members, Factors {}
