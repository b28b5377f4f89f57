import { isTimeZone, LANE_LIMITS, TIME_OF_DAY } from '../../contract/console/form-rules.ts'
import type { LanePolicy } from '../../core/connection/lane-policy.ts'
import type { QuietHours } from '../../core/connection/quiet-hours.ts'
import { Refusal } from '../../core/refusals.ts'
import { formatDuration, parseDurationMs } from '../../format/durations.ts'

type Pairs = Readonly<Record<string, string>>
type DurationField = keyof typeof LANE_LIMITS

/** Settings of the lane itself that are times, which every channel has. */
const DURATIONS: Readonly<Record<string, DurationField>> = {
  time_to_live: 'timeToLiveMs',
  least_gap: 'leastGapMs',
  gap_jitter: 'gapJitterMs',
  confirm_backlog_after: 'confirmBacklogAfterMs',
}
const ON_UNCONFIRMED = 'on_unconfirmed'
const QUIET_HOURS = 'quiet_hours'
const NO_QUIET_HOURS = 'off'

export const LANE_SETTINGS_HELP = `Settings of every lane:
  on_unconfirmed=leave|resend  what becomes of a message whose result is unknown (resend may make a duplicate)
  time_to_live=24h             how long a message may wait before it expires
  least_gap=0s                 least time between two messages
  gap_jitter=0s                up to this much is added to the gap, at random
  confirm_backlog_after=0s     a lane that stood still for longer waits for a person before it drains (0s: never)
  quiet_hours=22:00-07:00@Europe/Berlin
                               times of day at which nothing is sent, by the clock of a place (off: none)
Settings of the sandbox:
  latency=200ms                how long each delivery takes
  delivered_after=1s           when the receipt “delivered” comes (never: not at all)
  read_after=3s                when the receipt “read” comes (never: not at all)
Settings of whatsapp-cloud, of which it needs the first five:
  phone_number_id=ID           Meta's id of the number (not the number itself)
  business_account_id=ID       the WhatsApp Business Account that the number belongs to
  access_token=@FILE           the token of a system user; kept encrypted, never shown
  app_secret=@FILE             proves that callbacks come from Meta; kept encrypted, never shown
  verify_token=@FILE           a word of your own that Meta repeats when it first calls; kept encrypted, never shown
  graph_version=v26.0          the version of Meta's API
  link_preview=on|off          whether a text shows a preview of its first link
  template_text=NAME:LANGUAGE  the approved template that carries texts to recipients silent for 24 hours; likewise
                               template_image, template_document, template_video (an empty text takes one back)
Settings of bridge, of which it needs the first two:
  url=https://HOST/PATH        where the adapter listens; http and private addresses need NUNCIO_BRIDGE_ORIGINS
  secret=@FILE                 signs what both sides say, whsec_ and base64; kept encrypted, never shown
  old_secret=@FILE             the secret before, while the adapter is changed over (an empty text takes it back)
  send_timeout=30s             how long the adapter may take to answer
  evidence_wait=1m             how long it is asked about a message with an unknown result
A value @FILE is what the file holds, @- what standard input holds; @@ stands for one @ at the beginning.`

/** The settings that every channel's lanes have. */
export const LANE_SETTING_NAMES: readonly string[] = [ON_UNCONFIRMED, ...Object.keys(DURATIONS), QUIET_HOURS]

// All settings that the help names, of any channel: they are checked before the channel is known.
const SETTING_NAMES: ReadonlySet<string> = new Set(
  [...LANE_SETTINGS_HELP.matchAll(/^ {2}([a-z_]+)=|\b(template_[a-z]+)\b/gm)].flatMap(
    ([, name, template]) => name ?? template ?? [],
  ),
)

/** Splits `key=value` arguments into settings of the lane and settings of the channel. */
export function splitSettings(given: readonly string[]): { readonly lane: Pairs; readonly channel: Pairs } {
  const lane: Record<string, string> = {}
  const channel: Record<string, string> = {}
  for (const text of given) {
    const [, key, value] = /^([a-z][a-z0-9_]*)=(.*)$/s.exec(text) ?? []
    if (key === undefined || value === undefined) {
      throw notASetting(text)
    }
    if (Object.hasOwn(lane, key) || Object.hasOwn(channel, key)) {
      throw new Refusal(
        'argument_invalid',
        `The setting ${key} is given twice, so it is not clear which value is meant.`,
      )
    }
    const target = isOfLane(key) ? lane : channel
    target[key] = value
  }
  return { lane, channel }
}

/** Never with the value, nor with a text that may be one: it may be a secret under a mistyped name. */
function notASetting(text: string): Refusal {
  if (SETTING_NAMES.has(text))
    return new Refusal('argument_invalid', `${text} is given without a value. Write ${text}=VALUE.`, text)
  const [, name] = /^([A-Za-z][\w -]{0,39})=/.exec(text) ?? []
  const which = name === undefined ? 'One of the settings is not written as key=value' : `“${name}” is no setting`
  return new Refusal(
    'argument_invalid',
    `${which}. Write key=value, such as least_gap=2s; a key is small letters, digits and _.`,
  )
}

export function changePolicy(policy: LanePolicy, pairs: Pairs): LanePolicy {
  const changed: { -readonly [Field in keyof LanePolicy]: LanePolicy[Field] } = { ...policy }
  for (const [key, text] of Object.entries(pairs)) {
    const field = DURATIONS[key]
    if (field) changed[field] = parseDuration(key, text, LANE_LIMITS[field])
    else if (key === QUIET_HOURS) changed.quietHours = parseQuietHours(text)
    else changed.onUnconfirmed = parseOnUnconfirmed(text)
  }
  return changed
}

/** A lane policy as a person would write it. */
export function policyText(policy: LanePolicy): string {
  const durations = Object.entries(DURATIONS).map(([key, field]) => `${key}=${formatDuration(policy[field])}`)
  const quiet = policy.quietHours ? quietText(policy.quietHours) : NO_QUIET_HOURS
  return [`${ON_UNCONFIRMED}=${policy.onUnconfirmed}`, ...durations, `${QUIET_HOURS}=${quiet}`].join(', ')
}

function isOfLane(key: string): boolean {
  return key === ON_UNCONFIRMED || key === QUIET_HOURS || Object.hasOwn(DURATIONS, key)
}

function quietText({ from, to, timeZone }: QuietHours): string {
  return `${from}-${to}@${timeZone}`
}

function parseQuietHours(text: string): QuietHours | null {
  if (text === NO_QUIET_HOURS) return null
  const [, from = '', to = '', timeZone = ''] = /^([^-]+)-([^@]+)@(.+)$/.exec(text) ?? []
  if (TIME_OF_DAY.test(from) && TIME_OF_DAY.test(to) && from !== to && isTimeZone(timeZone))
    return { from, to, timeZone }
  throw new Refusal(
    'argument_invalid',
    `${QUIET_HOURS} must be ${NO_QUIET_HOURS} or two times of day and a time zone, such as 22:00-07:00@Europe/Berlin; “${text}” is not.`,
    QUIET_HOURS,
  )
}

function parseDuration(
  key: string,
  text: string,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  const ms = parseDurationMs(text)
  if (ms !== null && ms >= least && ms <= most) return ms
  const range = `from ${formatDuration(least)} to ${formatDuration(most)}`
  throw new Refusal(
    'argument_invalid',
    `${key} must be a time such as 500ms, 30s, 15m or 24h, ${range}; “${text}” is not.`,
    key,
  )
}

function parseOnUnconfirmed(text: string): LanePolicy['onUnconfirmed'] {
  if (text === 'leave' || text === 'resend') return text
  throw new Refusal(
    'argument_invalid',
    `${ON_UNCONFIRMED} must be leave or resend, and “${text}” is neither.`,
    ON_UNCONFIRMED,
  )
}
