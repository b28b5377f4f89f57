import { randomInt, randomUUIDv7 } from 'node:crypto'
import type { AccountId, ConnectionId, MessageId, TokenId } from '../../core/ids.ts'

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz'
// 36^12 is about 2^62: two equal ids are not to be expected before some billion accounts.
const LENGTH = 12

/** A new id of a person, a session, a link or a passkey. */
export function newPeopleId(kind: 'per' | 'ses' | 'lnk' | 'key'): string {
  return newId(kind)
}

function newId(prefix: string): string {
  return `${prefix}_${Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')}`
}

export function newAccountId(): AccountId {
  return newId('acc') as AccountId
}

export function newConnectionId(): ConnectionId {
  return newId('con') as ConnectionId
}

export function newTokenId(): TokenId {
  return newId('tok') as TokenId
}

export function newSessionRequestId(): string {
  return newId('req')
}

export function newMessageId(): MessageId {
  return randomUUIDv7() as MessageId
}
