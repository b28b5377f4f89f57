import { isThisMachine, kind, type SettingKind } from './setting-kinds.ts'

/** Where numbers log in as linked devices. */
export interface WhatsAppWebUrl {
  readonly url: string
  /** The root key of a simulator's certificates, in base64; null: WhatsApp's own. */
  readonly rootKey: string | null
}

const KEY_BYTES = 32

/** Only a simulator on this machine may have a key of its own: its owner can read all that is sent. */
export const whatsAppWebUrl: SettingKind<WhatsAppWebUrl> = kind(
  'a wss:// URL, or the ws:// URL of a simulator on this machine (127.0.0.1, [::1] or localhost) with its key behind a #',
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : null
    if (!url || url.username || url.password) return null
    const key = Buffer.from(url.hash.slice(1), 'base64url')
    url.hash = ''
    if (url.protocol === 'wss:') return key.length === 0 ? { url: url.href, rootKey: null } : null
    const isSimulator = url.protocol === 'ws:' && isThisMachine(url.hostname) && key.length === KEY_BYTES
    return isSimulator ? { url: url.href, rootKey: key.toString('base64') } : null
  },
)
