import type { SettingReading } from '../../config/read-settings.ts'
import { commandLine } from '../../core/command-line.ts'
import type { Cli } from '../cli.ts'
import { printable } from '../format/printable.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'

export function addConfigCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('config')
    .description(
      'show every setting, its value and where it comes from; works with wrong settings too, and then ends with 1',
    )
    .withJson('an array of settings')
    .withExamples(commandLine`config`, `NUNCIO_PORT=9000 ${commandLine`config --json`}`)
    .action(async (options: CommonOptions) => {
      const { readings, problems, warnings, unknown } = cli.surroundings.readSettings()
      if (problems.length > 0) cli.exitCode = 1
      if (options.json) await cli.jsonList(readings.map(settingJson))
      else {
        const rows = readings.map(({ name, value, source, problem }) => [
          name,
          value || '–',
          source,
          problem ? 'WRONG, see below' : '',
        ])
        await cli.table({ columns: ['SETTING', 'VALUE', 'SOURCE', ''], rows, whenEmpty: '' })
      }
      for (const { sentence, code } of problems) cli.surroundings.err(`nuncio: ${printable(sentence)} (${code})\n`)
      for (const sentence of [...unknown, ...warnings]) cli.warn(sentence)
    })
}

function settingJson({ name, value, source, default: whenUnset, secret, purpose, problem }: SettingReading) {
  return {
    name,
    value: value || null,
    source,
    default: whenUnset || null,
    secret,
    purpose,
    problem: problem?.sentence ?? null,
  }
}
