import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatNames, MEDIA_RULES } from '../../src/channels/whatsapp-cloud/media-rules.ts'
import { ROOT } from '../source-tree.ts'
import { markdownTable } from './markdown.ts'

export const WHATSAPP_CLOUD_PAGE = 'docs/channels/whatsapp-cloud.md'

const PRINTED = /(?<=<!-- printed from src\/channels\/whatsapp-cloud\/media-rules\.ts -->\n\n).*?(?=\n\n<!-- end -->)/s
const NOTES = {
  image: 'caption of 1,024 characters',
  document: 'caption; the file name is shown',
  video: 'H.264 and AAC in it; caption',
  audio: 'no caption, no name',
} as const

/** The text of the channel's manual: written by hand, except for its table of media. */
export function makeWhatsAppCloudPage(): string {
  const rows = (['image', 'document', 'video', 'audio'] as const).map((type) => [
    type,
    `${formatNames(type).join(', ')}; ${NOTES[type]}`,
    `${MEDIA_RULES[type].mostMegabytes} MB`,
  ])
  const text = ['text', '4,096 characters; `link_preview=off` sends links without preview', '']
  const table = markdownTable(['Type', 'Content', 'At most'], [text, ...rows])
  return readFileSync(join(ROOT, WHATSAPP_CLOUD_PAGE), 'utf8').replace(PRINTED, () => table)
}
