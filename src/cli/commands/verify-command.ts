import { commandLine } from '../../core/command-line.ts'
import type { Verified } from '../../operations/verify/verify-contents.ts'
import type { Cli } from '../cli.ts'
import { printable } from '../format/printable.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'

const REPORT_EVERY_MS = 1_000

export function addVerifyCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('verify')
    .description(
      'check the database, beside a running service, or a backup, and report what is wrong and how to fix it: damaged pages, bodies and references, messages without a place in their lane, open attempts, numbers, secrets, spooled files. It changes nothing',
    )
    .argument('[backup]', `the folder that ${commandLine`backup`} made; without it the database that is served`)
    .withJson('{place, messages, tookMs, isSound, findings: [{code, isDamage, count, sentence, nextStep, where}]}')
    .withExamples(commandLine`verify`, commandLine`verify /var/backups/nuncio/nuncio-2026-11-22T001205Z`)
    .action(async (backup: string | undefined, options: CommonOptions) => {
      const { verify, now } = cli.surroundings
      const onProgress = printProgress(cli)
      const verified = await verify({ settings: cli.settings(), backup: backup ?? null, onProgress, now })
      const isSound = !verified.findings.some(({ isDamage }) => isDamage)
      if (!isSound) cli.exitCode = 1
      if (options.json) return cli.json(verifiedJson(verified, isSound))
      await cli.say(inText(verified, isSound))
    })
}

function printProgress(cli: Cli): (progress: { readonly doing: string; readonly rows: number }) => void {
  const { err, now } = cli.surroundings
  let reportedAt = now()
  return ({ doing, rows }) => {
    if (now() - reportedAt < REPORT_EVERY_MS) return
    reportedAt = now()
    err(`nuncio: ${doing}: ${rows}\n`)
  }
}

function verifiedJson({ place, messages, tookMs, findings }: Verified, isSound: boolean) {
  return {
    place,
    messages,
    tookMs,
    isSound,
    findings: findings.map(({ code, isDamage, count, sentence, nextStep, where }) => ({
      code,
      isDamage,
      count,
      sentence,
      nextStep,
      where,
    })),
  }
}

function inText({ place, messages, tookMs, findings }: Verified, isSound: boolean): string {
  const seconds = Math.max(1, Math.round(tookMs / 1_000))
  const lines = findings.flatMap(({ isDamage, sentence, count, nextStep, where }) => [
    '',
    `${isDamage ? 'WRONG' : 'note'}: ${sentence}${count > 1 ? ` ${count} times:` : ''}`,
    ...where.map((one) => `  ${printable(one)}`),
    ...(count > where.length ? [`  … and ${count - where.length} more`] : []),
    `  What to do: ${nextStep}`,
  ])
  const result = isSound ? 'Nothing is wrong' : 'Something is wrong'
  return [`${result} in ${place}: ${messages} messages in ${seconds} s.`, ...lines].join('\n')
}
