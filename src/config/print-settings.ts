import { commandLine } from '../core/command-line.ts'
import type { Setting } from './setting.ts'
import { SETTINGS } from './settings.ts'

const HEAD_OF_EXAMPLE =
  '# Copy this file to .env and take the # off the lines you change. A variable of the environment wins over this file.'

/** The text of `.env.example`, or of another file of the same form with another first line. */
export function makeEnvExample(head = HEAD_OF_EXAMPLE): string {
  const entries = Object.values(SETTINGS).map((entry: Setting<unknown>) => {
    return [`# ${entry.purpose}`, `# ${ruleOf(entry)}`, `#${entry.name}=${entry.default}`, ''].join('\n')
  })
  return [head, '# Printed from src/config/settings.ts.', '', ...entries].join('\n')
}

/** The text of docs/configuration.md. */
export function makeConfigurationPage(): string {
  const rows = Object.values(SETTINGS).map((entry: Setting<unknown>) => {
    const value = entry.default === '' ? (entry.otherwise ?? 'none') : `\`${entry.default}\``
    return `| \`${entry.name}\` | ${value} | ${entry.purpose}${entry.secret ? ' Secret.' : ''} | ${entry.kind.rule} |`
  })
  return `# Configuration

Everything is set by environment variables, or by lines of the same form in a file \`.env\` in the folder the service is
started from. A variable of the environment wins over the file, and an empty one counts as not set. Nothing has to be set.

\`${commandLine`config`}\` shows every setting with its value and where it comes from. All mistakes are reported
together, and the service does not start while there is one. A \`NUNCIO_…\` variable that is no setting is warned about.

| Setting | Default | Purpose | It must be |
|---|---|---|---|
${rows.join('\n')}
`
}

function ruleOf(entry: Setting<unknown>): string {
  const unset = entry.default === '' ? ` Not set: ${entry.otherwise ?? 'none'}.` : ''
  return `It must be ${entry.kind.rule}.${unset}`
}
