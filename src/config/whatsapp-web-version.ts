import { kind, type SettingKind } from './setting-kinds.ts'

/** A version of WhatsApp Web. */
type WhatsAppWebVersion = `2.3000.${number}`

export const whatsAppWebVersion: SettingKind<WhatsAppWebVersion> = kind<WhatsAppWebVersion>(
  'a version of WhatsApp Web such as 2.3000.1043857760',
  (text) => {
    const [, revision] = /^2\.3000\.([1-9]\d{0,11})$/.exec(text) ?? []
    return revision === undefined ? null : `2.3000.${Number(revision)}`
  },
)
