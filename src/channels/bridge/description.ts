import { commandLine } from '../../core/command-line.ts'
import type { ChannelDescription } from '../../core/ports/channel-description.ts'
import { formatDuration } from '../../format/durations.ts'
import { BRIDGE } from './name.ts'
import { EVIDENCE_WAIT, SECRET_KEYS, SEND_TIMEOUT, writeBridgeSettings } from './settings.ts'

export const BRIDGE_DESCRIPTION: ChannelDescription = {
  name: BRIDGE,
  label: 'Bridge (your own gateway)',
  description: 'Messages go to an adapter of yours, a small server in front of any gateway, such as an SMS gateway.',
  abilities: { hasCallbacks: false, hasTemplates: false, isLinkedDevice: false },
  startFirst: {
    about:
      'Start the adapter, because Nuncio asks it before it adds the number. Save the secret as secret.txt where the adapter runs. For Kannel the command is this, with the name of its sendsms-user for USER and the password of that user in password.txt; any other adapter takes the same secret.',
    command: commandLine`adapter kannel --listen LISTEN --secret-file secret.txt --log kannel-adapter.log --gateway http://127.0.0.1:13013 --user USER --password-file password.txt`,
  },
  settings: [
    {
      name: 'url',
      label: 'URL of the adapter',
      help: 'Where the adapter listens. It must be https, or an address that the operator opened with NUNCIO_BRIDGE_ORIGINS.',
      kind: 'text',
      isRequired: true,
      unset: '',
    },
    {
      name: 'secret',
      label: 'Secret',
      help: 'Signs what Nuncio and the adapter say to each other; the adapter gets the same one. whsec_ and 24 to 64 bytes in base64.',
      kind: 'secret',
      isRequired: true,
      unset: '',
      random: { prefix: 'whsec_', bytes: 32 },
    },
    {
      name: 'old_secret',
      label: 'Old secret',
      help: 'The secret before, valid as well while the adapter is changed over to the new one. Take it back afterwards.',
      kind: 'secret',
      isRequired: false,
      unset: '',
    },
    {
      name: 'send_timeout',
      label: 'Time to answer',
      help: 'How long the adapter may take to answer; without an answer the result of the message is unknown.',
      kind: 'duration',
      isRequired: false,
      unset: formatDuration(SEND_TIMEOUT.unset),
    },
    {
      name: 'evidence_wait',
      label: 'Wait for evidence',
      help: 'How long the adapter is asked about a message with an unknown result. The number waits meanwhile.',
      kind: 'duration',
      isRequired: false,
      unset: formatDuration(EVIDENCE_WAIT.unset),
    },
  ],
  secretKeys: SECRET_KEYS,
  writeSettings: writeBridgeSettings,
}
