import { MEDIA_RULES } from '../../src/channels/whatsapp-cloud/media-rules.ts'
import { SETTINGS } from '../../src/config/settings.ts'
import { LANE_LIMITS } from '../../src/contract/console/form-rules.ts'
import {
  CAPTION_MAX_CHARACTERS,
  NAME_MAX_BYTES,
  TEXT_MAX_CHARACTERS,
  URL_MAX_CHARACTERS,
} from '../../src/contract/field-rules.ts'
import { DEFAULT_LANE_POLICY } from '../../src/core/connection/lane-policy.ts'
import { RETRY_DELAYS_MS } from '../../src/core/dispatch/media/stage.ts'
import { IDEMPOTENCY_KEPT_MS } from '../../src/core/message/idempotency.ts'
import { DEFAULT_HTTP_LIMITS, MAX_BODY_BYTES } from '../../src/http/server/http-limits.ts'
import { MAX_JSON_DEPTH } from '../../src/http/server/strict-json.ts'
import { MOST_REDIRECTS } from '../../src/media/follow-url.ts'
import { markdownTable } from './markdown.ts'

const HOUR_MS = 3_600_000

/** The text of docs/limits.md. */
export function makeLimitsPage(): string {
  return `# Limits

All limits in one place. What is over a limit is refused or fails with a reason; nothing is cut short. 1 MB is 1,048,576 bytes.

## A request

${ofRequests()}

## A file

${ofFiles()}

A file that is larger fails its message with [\`media_too_big\`](reasons.md#media_too_big). A download follows at most ${MOST_REDIRECTS} redirects, and is
tried ${RETRY_DELAYS_MS.length + 1} times. More on speed and time: [sending media](guides/sending-media.md#when-it-is-fetched).

## How much, how fast

${ofAmounts()}

One sender number sends one message at a time. WhatsApp Cloud takes up to 80 messages a second from a number, and from one number to one person
45 at once, then one in 6 seconds: Nuncio keeps to that by itself.

## How long

${ofTimes()}

How long messages, texts and files are kept: [retention](operating/retention.md).
`
}

function ofRequests(): string {
  return markdownTable(
    ['What', 'Limit', 'Over it'],
    [
      ['Body', kib(MAX_BODY_BYTES), '400 `body_too_large`'],
      ['Nesting of the JSON', `${MAX_JSON_DEPTH} levels`, '400 `body_too_deep`'],
      [
        'Headers',
        `${kib(DEFAULT_HTTP_LIMITS.maxHeaderBytes)}, ${DEFAULT_HTTP_LIMITS.maxHeaders} lines`,
        '431 `headers_too_large`',
      ],
      ['`from`, `to`', '7 to 15 digits, country code first', '400 `number_malformed`'],
      ['Text', `${count(TEXT_MAX_CHARACTERS)} characters`, '400 `text_too_long`'],
      ['Caption', `${count(CAPTION_MAX_CHARACTERS)} characters`, '400 `text_too_long`'],
      ['File name', `${NAME_MAX_BYTES} bytes`, '400 `name_malformed`'],
      [
        'URL of a file',
        `${count(URL_MAX_CHARACTERS)} characters; port 80, 443, 8080 or 8443`,
        '400 `url_malformed`, `url_port_refused`',
      ],
      [
        '`Idempotency-Key`',
        `255 characters; kept for ${IDEMPOTENCY_KEPT_MS / HOUR_MS} hours`,
        '400 `idempotency_key_malformed`',
      ],
    ],
  )
}

function ofFiles(): string {
  return markdownTable(
    ['What', 'Unless set otherwise', 'Setting', 'WhatsApp Cloud'],
    (
      [
        ['image', SETTINGS.mediaMaxImageBytes],
        ['video', SETTINGS.mediaMaxVideoBytes],
        ['audio', SETTINGS.mediaMaxAudioBytes],
        ['document', SETTINGS.mediaMaxDocumentBytes],
      ] as const
    ).map(([type, setting]) => [type, ...byDefault(setting, ' MB'), `${MEDIA_RULES[type].mostMegabytes} MB`]),
  )
}

function ofAmounts(): string {
  return markdownTable(
    ['What', 'Unless set otherwise', 'Setting', 'Over it'],
    [
      [
        'Messages that wait on one connection',
        ...byDefault(SETTINGS.maxWaitingPerConnection),
        '429 `connection_backlog_full`',
      ],
      ['Messages of one account that wait', ...byDefault(SETTINGS.maxWaitingPerAccount), '429 `account_backlog_full`'],
      ['Messages of one account in a second', ...byDefault(SETTINGS.acceptRatePerAccount), '429 `rate_exceeded`'],
      [
        'Files of one account on the disk',
        ...byDefault(SETTINGS.mediaSpoolBytesPerAccount, ' MB'),
        'later files are downloaded when their turn comes',
      ],
    ],
  )
}

function ofTimes(): string {
  return markdownTable(
    ['What', 'Unless set otherwise', 'From', 'To'],
    [
      [
        'A message may wait (`time_to_live` of the connection)',
        `${DEFAULT_LANE_POLICY.timeToLiveMs / HOUR_MS} hours`,
        `${LANE_LIMITS.timeToLiveMs.least / 1000} s`,
        `${LANE_LIMITS.timeToLiveMs.most / (24 * HOUR_MS)} days`,
      ],
      [
        'Gap between two messages (`least_gap`)',
        `${DEFAULT_LANE_POLICY.leastGapMs / 1000} s`,
        `${LANE_LIMITS.leastGapMs.least / 1000} s`,
        `${LANE_LIMITS.leastGapMs.most / HOUR_MS} hours`,
      ],
    ],
  )
}

function count(number: number): string {
  return number.toLocaleString('en')
}

function kib(bytes: number): string {
  return `${bytes / 1024} KiB`
}

/** The default of a setting, and its name. */
function byDefault({ name, default: value }: { readonly name: string; readonly default: string }, unit = ''): string[] {
  return [value === '0' ? 'none' : `${count(Number(value))}${unit}`, `\`${name}\``]
}
