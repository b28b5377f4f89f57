import { commandLine } from '../../core/command-line.ts'
import { relativeTime } from '../../format/instants.ts'
import type { InboxEntry } from '../../server/wiring/open-administration.ts'
import type { Cli } from '../cli.ts'
import { inboxJson } from '../format/json-shapes.ts'
import { shorten } from '../format/printable.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { parseLimit, parseNumber } from '../parse/argument.ts'
import { findAccountOrAll } from '../parse/find-account.ts'

const TEXT_SHOWN = 60

export function addSandboxCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group('sandbox', 'the sandbox: a network that lives on this machine')

  group
    .command('inbox')
    .description('show what was delivered, in order of delivery')
    .option('--connection <number>', 'only what this connection sent')
    .option('--limit <count>', 'only so many, the newest; still in order of delivery')
    .withAccount('only what this account sent')
    .withJson('an array of deliveries')
    .withExamples(commandLine`sandbox inbox`, commandLine`sandbox inbox --connection 15550001000 --json`)
    .action(async (options: CommonOptions & { connection?: string; limit?: string }) => {
      const connection = options.connection === undefined ? null : parseNumber(options.connection)
      const limit = parseLimit(options.limit)
      await cli.withAdministration(async ({ administration, inbox }) => {
        const account = await findAccountOrAll(administration, options.account)
        const accountId = account?.id ?? null
        const entries = inbox({ accountId, number: connection, limit })
        if (options.json) return cli.jsonList(mapped(entries))
        const now = cli.surroundings.now()
        await cli.table({
          columns: ['DELIVERED', 'FROM', 'TO', 'TYPE', 'WHAT', 'SIZE', 'SHA-256'],
          rows: rows(entries, now),
          whenEmpty: `Nothing was delivered yet. Send something: ${commandLine`send --from NUMBER --to NUMBER --text Hello`}`,
        })
      })
    })
}

async function* mapped(entries: AsyncIterable<InboxEntry>) {
  for await (const entry of entries) yield inboxJson(entry)
}

async function* rows(entries: AsyncIterable<InboxEntry>, now: number): AsyncIterable<readonly string[]> {
  for await (const { deliveredAt, connection, to, type, text, caption, name, sizeBytes, sha256 } of entries) {
    const what = text ?? [name, caption].filter((part) => part !== null).join(': ')
    const size = sizeBytes === null ? '–' : `${sizeBytes} B`
    yield [
      relativeTime(deliveredAt, now),
      connection,
      to,
      type,
      shorten(what, TEXT_SHOWN),
      size,
      sha256?.slice(0, 12) ?? '–',
    ]
  }
}
