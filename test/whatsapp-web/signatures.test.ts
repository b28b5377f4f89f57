import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { LIBRARY_FOLDER, whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { isSignedBy } from '../support/whatsapp-web/xeddsa.ts'

type Verify = (publicKey: Buffer, message: Buffer, signature: Buffer) => boolean

const REASON = whyNoLibrary()
const TYPE = Buffer.of(5)
/** The prime of the field, and the order of the group in which signatures are made. */
const PRIME = 2n ** 255n - 19n
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n

const KEY = Buffer.from('e3712d851a0e5d79b831c5e34ab22b41a198171de209b8b8faca23a11c624859', 'hex')
const MESSAGE = Buffer.from('a message')
const EMPTY = Buffer.alloc(0)
const SIGNATURE = Buffer.from(
  'f163c04f6b90f9f85aa1b77d6f78f74e9f4d37e101366f9c8955b9ff5c918d31df6c43667cc7ecf51ab4d04493eac15184cc5116348af3115a5af3f4cd90010e',
  'hex',
)
const SIGNATURE_OF_EMPTY = Buffer.from(
  '6d7423d3a20c5508fd623705b0acdb8b283e183c4d20e0e62b3c070310fb3de77578b9c5ef10b2cd8f26f54f82b31689b7b3848784d46577aac2912cf67b3c09',
  'hex',
)
/**
 * Consists of the neutral point and 0. For a key of small order it is valid, without any private key, for each message whose hash
 * is a multiple of that order.
 */
const NEUTRAL = Buffer.concat([littleEndian(1n), littleEndian(0n)])
const OF_ORDER_8 = 325606250916557431795983626356110631294008115727848805560023387167927233504n

interface Vector {
  readonly key?: Buffer
  readonly message?: Buffer
  readonly signature?: Buffer
  readonly isTaken?: true
  /** True if the library's own verification accepts what this one refuses. */
  readonly isTakenByLibrary?: true
}

const VECTORS: Readonly<Record<string, Vector>> = {
  'a signature': { isTaken: true },
  'a signature of an empty message': { message: EMPTY, signature: SIGNATURE_OF_EMPTY, isTaken: true },
  // A Montgomery key has only 255 bits.
  'a key whose highest bit is set': { key: flipped(KEY, 31, 0x80), isTaken: true },
  'an empty message with the signature of another': { message: EMPTY },
  'another message': { message: flipped(MESSAGE, 0) },
  'another key': { key: flipped(KEY, 0) },
  'a changed point': { signature: flipped(SIGNATURE, 0) },
  'a changed number': { signature: flipped(SIGNATURE, 32) },
  'the other sign of the key': { signature: flipped(SIGNATURE, 63, 0x80) },
  'a signature of zeros': { signature: Buffer.alloc(64) },
  'a signature of ones': { signature: Buffer.alloc(64, 0xff) },
  'no signature': { signature: EMPTY },
  'a signature that lacks a byte': { signature: SIGNATURE.subarray(0, 63) },
  'a signature with one byte more': { signature: Buffer.concat([SIGNATURE, Buffer.of(0)]) },
  'no key': { key: EMPTY },
  'a key that lacks a byte': { key: KEY.subarray(0, 31) },
  'a key with one byte more': { key: Buffer.concat([TYPE, KEY]) },
  'a key that is no point of the curve': { key: littleEndian(2n), signature: NEUTRAL },
  'a number beyond the order of the group': { signature: beyondOrder(SIGNATURE), isTakenByLibrary: true },
  'a key of order 2': ofSmallOrder(0n, 'message 2'),
  'a key of order 2 that is not reduced': ofSmallOrder(PRIME, 'message 2'),
  'a key of order 4': ofSmallOrder(1n, 'message 0'),
  'a key without an Edwards point': ofSmallOrder(PRIME - 1n, 'message 0'),
  'a key of order 8': ofSmallOrder(OF_ORDER_8, 'message 1'),
}

describe.skipIf(REASON)(`a signature that the wrapper of libsignal checks${skipNote(REASON)}`, () => {
  it.each(Object.entries(VECTORS))('is accepted only if the library itself accepts it: %s', (_, vector) => {
    const { key = KEY, message = MESSAGE, signature = SIGNATURE, isTaken = false, isTakenByLibrary = isTaken } = vector

    assert.equal(isSignedBy(key, message, signature), isTaken)
    assert.equal(isTakenBy(openLibrary(), [key, message, signature]), isTakenByLibrary)
  })
})

/** Loads the function that the wrapper replaces. */
function openLibrary(): Verify {
  const requireThere = createRequire(join(LIBRARY_FOLDER, 'package.json'))
  const { verifySignature } = requireThere('libsignal-original/src/curve') as { readonly verifySignature: Verify }
  return verifySignature
}

function isTakenBy(verify: Verify, [key, message, signature]: readonly [Buffer, Buffer, Buffer]): boolean {
  try {
    return verify(Buffer.concat([TYPE, key]), message, signature)
  } catch {
    return false
  }
}

function ofSmallOrder(u: bigint, message: string): Vector {
  return { key: littleEndian(u), message: Buffer.from(message), signature: NEUTRAL, isTakenByLibrary: true }
}

function flipped(bytes: Buffer, place: number, bits = 1): Buffer {
  const changed = Buffer.from(bytes)
  changed.writeUInt8(changed.readUInt8(place) ^ bits, place)
  return changed
}

/** The same signature with another number that stands for the same point. */
function beyondOrder(signature: Buffer): Buffer {
  const number = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`)
  return Buffer.concat([signature.subarray(0, 32), littleEndian(number + ORDER)])
}

function littleEndian(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse()
}
