import type { ChannelDescription } from '../../core/ports/channel-description.ts'
import { formatDuration } from '../../format/durations.ts'
import { SANDBOX_KEYS } from './settings.ts'

export const SANDBOX_DESCRIPTION: ChannelDescription = {
  name: 'sandbox',
  label: 'Sandbox',
  description: 'A make-believe network: messages go to an inbox on this server, and nothing leaves the machine.',
  abilities: { hasCallbacks: false, hasTemplates: false, isLinkedDevice: false },
  settings: [
    {
      name: 'latency',
      label: 'Latency',
      help: 'How long each delivery takes, such as 200ms or 3s; at most 20s.',
      kind: 'duration',
      isRequired: false,
      unset: '0s',
    },
    {
      name: 'delivered_after',
      label: 'Delivered after',
      help: 'When the receipt “delivered” comes, such as 1s; “never” for not at all.',
      kind: 'duration',
      isRequired: false,
      unset: 'never',
    },
    {
      name: 'read_after',
      label: 'Read after',
      help: 'When the receipt “read” comes, such as 3s; “never” for not at all.',
      kind: 'duration',
      isRequired: false,
      unset: 'never',
    },
  ],
  secretKeys: [],
  writeSettings(stored) {
    const texts: Record<string, string> = {}
    for (const [name, [key]] of Object.entries(SANDBOX_KEYS)) {
      const value = stored[key]
      if (value === null) texts[name] = 'never'
      else if (typeof value === 'number') texts[name] = formatDuration(value)
    }
    return texts
  },
}
