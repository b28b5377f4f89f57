import { createHmac } from 'node:crypto'
import { BASE62 } from '../core/base62.ts'
import type { AccountId } from '../core/ids.ts'

// 131 bits, so that an address for callbacks cannot be guessed.
const LENGTH = 22

/**
 * The last part of an address for callbacks. It follows from the account and the secret that callbacks are signed with,
 * and is not random: a network has one address for all numbers of an app, so two that are added at the same moment must
 * come to the same one. It reveals nothing of the secret, which is a random one of 128 bits.
 */
export function callbackPathOf(accountId: AccountId, callbackSecret: string): string {
  const digest = createHmac('sha256', callbackSecret).update(`callback app of ${accountId}`).digest('hex')
  let rest = BigInt(`0x${digest}`)
  let text = ''
  while (text.length < LENGTH) {
    text += BASE62.charAt(Number(rest % 62n))
    rest /= 62n
  }
  return text
}
