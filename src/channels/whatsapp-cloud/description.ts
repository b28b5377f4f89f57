import type { ChannelDescription, SettingDescription } from '../../core/ports/channel-description.ts'
import { WHATSAPP_CLOUD } from './name.ts'
import {
  DEFAULT_GRAPH_VERSION,
  PLAIN_NAMES,
  readWhatsAppCloudSettings,
  SECRET_KEYS,
  TEMPLATE_KINDS,
  templateSetting,
} from './settings.ts'

export const WHATSAPP_CLOUD_DESCRIPTION: ChannelDescription = {
  name: WHATSAPP_CLOUD,
  label: 'WhatsApp Cloud',
  description: 'The official WhatsApp Business Cloud API: messages go to Meta, from a number of your business account.',
  abilities: { hasCallbacks: true, hasTemplates: true, isLinkedDevice: false },
  settings: [
    required(
      'phone_number_id',
      'Phone number ID',
      'Meta’s id of the number, from the dashboard: WhatsApp > API Setup.',
    ),
    required(
      'business_account_id',
      'Business account ID',
      'The id of the WhatsApp Business Account that the number belongs to, from the same page.',
    ),
    secret('access_token', 'Access token', 'The token of a system user, with the permissions to send and to manage.'),
    secret('app_secret', 'App secret', 'Proves that callbacks come from Meta; from App settings > Basic.'),
    secret(
      'verify_token',
      'Verify token',
      'Chosen by you, at least 8 characters; Meta shows it when you register the callbacks.',
    ),
    {
      name: 'graph_version',
      label: 'Graph API version',
      help: 'The version of Meta’s API that is spoken.',
      kind: 'text',
      isRequired: false,
      unset: DEFAULT_GRAPH_VERSION,
    },
    {
      name: 'link_preview',
      label: 'Link preview',
      help: 'Shows a preview of the first link in a text.',
      kind: 'switch',
      isRequired: false,
      unset: 'on',
    },
    ...TEMPLATE_KINDS.map((kind) =>
      optional(
        templateSetting(kind),
        `Template for ${kind === 'text' ? 'texts' : `${kind}s`}`,
        `Carries ${kind === 'text' ? 'a text' : `${kind === 'image' ? 'an' : 'a'} ${kind}`} to a recipient who has not written for 24 hours: its name and language, such as notice:en_US.`,
      ),
    ),
  ],
  secretKeys: SECRET_KEYS,
  writeSettings(stored) {
    const texts: Record<string, string> = {}
    for (const [name, key] of PLAIN_NAMES) {
      const value = stored[key]
      if (typeof value === 'boolean') texts[name] = value ? 'on' : 'off'
      else if (typeof value === 'string') texts[name] = value
    }
    const { templates } = readWhatsAppCloudSettings(stored)
    for (const kind of TEMPLATE_KINDS) {
      const template = templates[kind]
      if (template) texts[templateSetting(kind)] = `${template.name}:${template.language}`
    }
    return texts
  },
}

function required(name: string, label: string, help: string): SettingDescription {
  return { name, label, help, kind: 'text', isRequired: true, unset: '' }
}

function optional(name: string, label: string, help: string): SettingDescription {
  return { name, label, help, kind: 'text', isRequired: false, unset: '' }
}

function secret(name: string, label: string, help: string): SettingDescription {
  return { name, label, help, kind: 'secret', isRequired: true, unset: '' }
}
