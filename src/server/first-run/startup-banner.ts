import { describeDatabase } from '../../config/database-url.ts'
import type { Settings } from '../../config/read-settings.ts'
import { ROLES } from '../../config/setting-kinds.ts'
import { commandLine } from '../../core/command-line.ts'
import type { Started } from '../application.ts'
import type { FirstStart } from './first-start.ts'
import type { SetupLink } from './setup-link.ts'

/** What a person reads when the service has begun to serve. */
export function startupBanner(
  { url, first, setupLink }: Started & { readonly setupLink: SetupLink | null },
  settings: Settings,
): string {
  const { roles, processes } = settings
  const lines = [
    roles.includes('api') ? `Nuncio serves on ${url}` : `Nuncio runs; health and metrics on ${url}`,
    `  data      ${settings.dataDir}`,
    `  storage   ${describeDatabase(settings.database)}`,
  ]
  if (roles.length < ROLES.length) lines.push(`  roles     ${roles.join(', ')}`)
  if (processes > 1) lines.push(`  processes ${processes}`)
  if (roles.includes('console')) lines.push(`  console   ${url}/console/`)
  lines.push(`  commands  ${commandLine`--help`}`)
  if (setupLink) lines.push('', ...setupLines(setupLink))
  if (first) lines.push('', ...firstLines(first, url))
  return `${lines.join('\n')}\n`
}

function setupLines({ url, file }: SetupLink): readonly string[] {
  const notYet = 'The console has no owner yet.'
  if (url === null) return [`${notYet} Make the link for its owner: ${commandLine`user setup-link`}`]
  return [
    `${notYet} Open this link within the hour to become its owner; it works once:`,
    '',
    url,
    '',
    file === null ? '' : `It is also in ${file}. A new one: ${commandLine`user setup-link`}`,
  ]
}

function firstLines({ token, number }: FirstStart, url: string): readonly string[] {
  if (token !== null)
    return [
      'This is the first start: an account, a sandbox number and a token were made. Send the first message:',
      '',
      firstCurl({ token, number }, url),
      '',
    ]
  return [
    `This is the first start: an account and the sandbox number ${number} were made, and no token. Make one:`,
    '',
    commandLine`token create --name 'first token' --event messaging.send_message --expires 30d`,
    '',
  ]
}

/** A command ready to paste that gets 200. */
export function firstCurl({ token, number }: { readonly token: string; readonly number: string }, url: string): string {
  return `curl ${url}/chat/api/v1/public/message/send \\
  -H 'x-api-key: ${token}' -H 'content-type: application/json' \\
  -d '{"from":"${number}","to":"15551234567","message":{"type":"message","message":"Hello from Nuncio"}}'`
}
