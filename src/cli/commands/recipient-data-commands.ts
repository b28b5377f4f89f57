import { commandLine } from '../../core/command-line.ts'
import type { AccountView } from '../../core/ports/administration.ts'
import { Refusal } from '../../core/refusals.ts'
import { counted } from '../../format/counted.ts'
import { isoTime } from '../../format/instants.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'
import { ACTOR, type Cli } from '../cli.ts'
import { erasureText } from '../format/erasure-text.ts'
import { forPeople } from '../format/for-people.ts'
import { escapeHidden } from '../format/printable.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { parseNumber } from '../parse/argument.ts'
import { findAccount } from '../parse/find-account.ts'

const OF = 'the account; needed when there are several'
// Often enough to see that it moves.
const REPORT_EVERY_ROWS = 1_000_000

type EraseOptions = CommonOptions & { readonly cancelWaiting?: boolean; readonly yes?: boolean }

/** Commands that read everything an account has about one number. */
export function addRecipientDataCommands(group: NuncioCommand, cli: Cli): void {
  group
    .command('export')
    .description(
      'print everything an account has about one number, as one JSON object: its messages with their timeline, requests that name it, what channels remember, its block',
    )
    .argument('<number>', 'country code and digits only')
    .withAccount(OF)
    .withExamples(commandLine`recipient export 15550100000`)
    .action((text: string, options: CommonOptions) => withPerson(cli, { text, options }, printExport))

  group
    .command('erase')
    .description(
      'erase who a number is and what was written to it, everywhere in an account; that something was sent, when and how it ended stays',
    )
    .argument('<number>', 'country code and digits only')
    .option('--cancel-waiting', 'cancel what waits for it; without this it is refused while anything does')
    .option('--yes', 'do it without asking: it cannot be undone')
    .withAccount(OF)
    .withJson('{messages, requests, memories, cancelled, unconfirmed}')
    .withExamples(commandLine`recipient erase 15550100000 --cancel-waiting --yes`)
    .action((text: string, options: EraseOptions) =>
      withPerson(cli, { text, options }, (given) => erase({ ...given, options })),
    )
}

interface Given {
  readonly cli: Cli
  readonly session: AdministrationSession
  readonly account: AccountView
  readonly number: string
}

function withPerson(
  cli: Cli,
  { text, options }: { readonly text: string; readonly options: CommonOptions },
  work: (given: Given) => Promise<void>,
): Promise<void> {
  const number = parseNumber(text)
  return cli.withAdministration(async (session) => {
    const account = await findAccount(session.administration, options.account)
    await work({ cli, session, account, number })
  })
}

/** Written while it is read, because it may be larger than memory. Items come list after list, except two lists that belong together. */
async function printExport({ cli, session, account, number }: Given): Promise<void> {
  const { out, now } = cli.surroundings
  const head = { account: account.name, recipient: number, exportedAt: isoTime(now()) }
  let text = `${JSON.stringify(head).slice(0, -1)},"items":[`
  let before = '\n'
  const onProgress = progress(cli)
  const items = session.recipientData.export({ accountId: account.id, number, onProgress }, ACTOR)
  for await (const { of, item } of items) {
    text += `${before}${JSON.stringify({ of, ...(forPeople(item) as object) })}`
    before = ',\n'
    if (text.length < 65_536) continue
    await out(escapeHidden(text))
    text = ''
  }
  await out(`${escapeHidden(text)}\n]}\n`)
}

async function erase({ cli, session, account, number, options }: Given & { options: EraseOptions }): Promise<void> {
  if (!options.yes) await confirm(cli, number)
  const cancelWaiting = options.cancelWaiting ?? false
  const of = { accountId: account.id, number, cancelWaiting, onProgress: progress(cli) }
  const erased = await session.recipientData.erase(of, ACTOR)
  if (options.json) return cli.json(erased)
  const { messages, requests, memories } = erased
  await cli.say(
    `Erased from ${counted(messages, 'message')}, ${counted(requests, 'request')} and ${counted(memories, 'memory', 'memories')} of channels. Backups made before still hold it. ${erasureText(erased)}`,
  )
}

async function confirm(cli: Cli, number: string): Promise<void> {
  const { ask } = cli.surroundings
  if (!ask) throw new Refusal('argument_invalid', 'Erasing cannot be undone. Say --yes to do it without being asked.')
  const question = 'Erasing cannot be undone. Type the number to erase it: '
  if ((await ask({ question, isHidden: false })).trim() !== number)
    throw new Refusal('argument_invalid', 'That was not the number, so nothing was erased.')
}

function progress(cli: Cli): (rows: number) => void {
  let reported = 0
  return (rows) => {
    if (rows < reported + REPORT_EVERY_ROWS) return
    reported = rows
    cli.surroundings.err(`${rows.toLocaleString('en')} messages read\n`)
  }
}
