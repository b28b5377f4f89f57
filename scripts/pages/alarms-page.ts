import { withCommand } from '../../src/core/reasons.ts'
import { ALARM_KINDS } from '../../src/core/watchdog/alarm-kinds.ts'
import { markdownTable } from './markdown.ts'

/** The text of docs/alarms.md. */
export function makeAlarmsPage(): string {
  const rows = Object.entries(ALARM_KINDS).map(([kind, { of, severity, means, nextStep, command }]) => [
    `\`${kind}\``,
    severity,
    `of ${of === 'account' || of === 'installation' ? 'the' : 'a'} ${of}`,
    means,
    withCommand({ nextStep, command }),
  ])
  return `# Alarms

What the [watchdog](operating/watchdog.md) can find. The names are stable. Each alarm explains its own case in one
sentence; this page says what all alarms of a kind have in common.

${markdownTable(['Kind', 'At first', 'It is', 'Raised when', 'What to do'], rows)}
`
}
