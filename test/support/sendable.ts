import { MESSAGE_TYPES } from '../../src/core/message/message.ts'

/** All message types over each of these channels, for storage without channels. */
export function sendableOver(channels: readonly string[]): readonly string[] {
  return channels.flatMap((channel) => MESSAGE_TYPES.map((type) => `${channel}/${type}`))
}

export const SENDABLE = sendableOver(['sandbox', 'bridge', 'whatsapp-cloud', 'whatsapp-web'])
